"""The documents, jobs, quarantined files and sources that a caller may see, with what is shown of them."""

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, Subquery
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.response import Response

from ingest.api.jobs.serializers import JobSerializer
from ingest.api.sources.serializers import SourceVersionSerializer
from ingest.jobs.items.quarantine import quarantined
from ingest.models import Job, JobKind, Unreadable
from ingest.services.versions import AddedVersion
from kebab.http.api.views import WorkspaceView
from kebab.people.access.caller import Access
from kebab.uuids import as_uuid
from search.access.querysets import sources_of
from search.access.restrictions import hidden_from, with_readers
from search.api.querysets import readable_documents
from search.models import Source

# They name no path but what their requester named.
_NAMES_NO_PATH = (
    JobKind.DELETE_SOURCE,
    JobKind.DELETE_VERSION,
    JobKind.INGEST_DOCUMENT,
    JobKind.EVALUATE,
    JobKind.GATE,
)
_OF_THE_WORKSPACE = (JobKind.EMBED, JobKind.EVALUATE, JobKind.GATE)


def readable_jobs(access: Access) -> Any:
    """Return the queryset of jobs, each with its `source_key`, None when the source is gone or it has none.

    A job is read as its source is. Who doesn't read all sees of those whose source is gone only what they
    asked for themselves, and those of the whole workspace only while no source is hidden from them: their
    counts would tell of it.
    """
    source = Source.objects.in_workspace(access.workspace).filter(pk=OuterRef("source_id"))
    jobs = Job.objects.in_workspace(access.workspace).annotate(source_key=Subquery(source.values("key")))
    if access.reader.reads_all:
        return jobs
    readable = Q(source__in=_sources(access).order_by().values("pk"))
    own = Q(kind__in=_NAMES_NO_PATH, requested_by=access.actor, created_at__gte=_since(access))
    of_all = Q(kind__in=_OF_THE_WORKSPACE) & ~Exists(hidden_from(access.workspace, access.reader))
    return jobs.filter(readable | Q(source=None) & (own | of_all))


def one_job(access: Access, job_id: uuid.UUID) -> Job:
    """Return the job with all that is shown of it. Raises Http404."""
    job: Job = get_object_or_404(readable_jobs(access), pk=job_id)
    return job


def readable_sources(access: Access) -> Any:
    """Return the queryset of sources with all that is shown of them."""
    return with_readers(_sources(access), access.reader)


def one_source(access: Access, source_id: uuid.UUID) -> Source:
    """Return the source with all that is shown of it. Raises Http404."""
    source: Source = get_object_or_404(readable_sources(access), pk=source_id)
    return source


def readable_quarantine(access: Access) -> Any:
    """Return the queryset of quarantined files, source and version loaded."""
    files = quarantined(access.workspace)
    if access.reader.reads_all:
        return files
    return files.filter(version__source__in=_sources(access).order_by().values("pk"))


def one_quarantined(access: Access, entry_id: int) -> Unreadable:
    """Return the quarantined file. Raises Http404."""
    entry: Unreadable = get_object_or_404(readable_quarantine(access), pk=entry_id)
    return entry


def check_kept_answer(view: WorkspaceView, body: Any) -> None:
    """Raises Http404 when the caller may not know any more of the job or source that a kept answer names."""
    if view.access.reader.reads_all:
        return
    job = body.get("job")
    if job is not None:
        one_job(view.access, job["id"])
    else:
        one_source(view.access, view.kwargs.get("source_id", body.get("id")))


def job_address(access: Access, job: Job) -> str:
    """Return the path where the job can be watched."""
    return reverse("api-job", kwargs={"ws": access.workspace.slug, "job_id": job.pk})


def job_answer(access: Access, job: Job) -> Response:
    """Answer 202 with the job as it stands and where to watch it."""
    body = {"job": JobSerializer(one_job(access, job.pk)).data}
    return Response(body, status=202, headers={"Location": job_address(access, job)})


def version_answer(access: Access, added: AddedVersion) -> Response:
    """Answer with a new version: 202 with the job that reads it, 201 where there is nothing to read."""
    version = SourceVersionSerializer(added.version).data
    if added.job is None:
        return Response({"version": version, "job": None}, status=201)
    body = {"version": version, "job": JobSerializer(one_job(access, added.job.pk)).data}
    return Response(body, status=202, headers={"Location": job_address(access, added.job)})


def listed_documents(access: Access, query: Mapping[str, Any]) -> Any:
    """Return the queryset of documents that the clean `DocumentsQuery` asks for."""
    documents = readable_documents(access.workspace, access.reader)
    if "path_prefix" in query:
        documents = documents.filter(path__startswith=query["path_prefix"])
    if "source" in query:
        documents = documents.filter(named_sources(query["source"], "source"))
    if "version" in query:
        documents = documents.filter(version__tag__in=query["version"])
    return documents


def named_sources(keys_or_ids: list[str], source: str) -> Q:
    """Return the condition that the field `source` leads to one of the named sources."""
    ids = [id_ for id_ in map(as_uuid, keys_or_ids) if id_ is not None]
    return Q(**{f"{source}__key__in": keys_or_ids}) | Q(**{f"{source}__in": ids})


def _since(access: Access) -> datetime:
    """Return since when the caller is there: what was asked for under the same name before was another's."""
    return access.user.date_joined if access.user is not None else access.token.created_at  # type: ignore[union-attr]


def _sources(access: Access) -> Any:
    return sources_of(access.workspace, access.reader)
