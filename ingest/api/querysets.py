"""Querysets of the documents, jobs, unreadable files and sources that a caller may see, and responses."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db.models import Count, Exists, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.response import Response

from ingest.api.jobs.serializers import JobSerializer
from ingest.api.sources.serializers import SourceVersionSerializer
from ingest.jobs.items.quarantine import unreadable_files
from ingest.models import DOCUMENT_KINDS, Job, JobKind, Unreadable
from ingest.services.versions import AddedVersion
from kebab.database.querysets import NaturalKey
from kebab.http.api.views import WorkspaceView
from kebab.identity.caller import Access
from kebab.uuids import parse_uuid
from search.access.restrictions import annotate_readers, hidden_sources, visible_sources
from search.api.querysets import readable_documents
from search.models import Document, Source

#: States of files that could not be read: no parser reads it, or every parser failed on it.
UNREADABLE_STATES: Final = ("refused", "quarantined")

# Jobs of these kinds show no paths, except one that their requester gave.
_KINDS_WITHOUT_PATHS = (
    JobKind.DELETE_SOURCE,
    JobKind.DELETE_VERSION,
    *DOCUMENT_KINDS,
    JobKind.EVALUATE,
    JobKind.GATE,
)
_WORKSPACE_KINDS = (JobKind.EMBED, JobKind.EVALUATE, JobKind.GATE)


def readable_jobs(access: Access) -> Any:
    """Return the queryset of jobs, each with its `source_key`, None if it has no source or that is deleted.

    A job is visible if its source is. Callers who don't read all sources see jobs of deleted sources only if
    they requested them, and jobs of the whole workspace only while no source is hidden from them: counts
    would reveal it.
    """
    source = Source.objects.in_workspace(access.workspace).filter(pk=OuterRef("source_id"))
    jobs = Job.objects.in_workspace(access.workspace).annotate(source_key=Subquery(source.values("key")))
    if access.reader.reads_all:
        return jobs
    readable = Q(source__in=_sources(access).order_by().values("pk"))
    # Earlier requests under the same name were somebody else's.
    joined_at = access.caller.person.date_joined if access.token is None else access.token.created_at
    own = Q(kind__in=_KINDS_WITHOUT_PATHS, requested_by=access.actor, created_at__gte=joined_at)
    of_all = Q(kind__in=_WORKSPACE_KINDS) & ~Exists(hidden_sources(access.workspace, access.reader))
    return jobs.filter(readable | Q(source=None) & (own | of_all))


def get_job(access: Access, job_id: uuid.UUID) -> Job:
    """Return the job with its annotations. Raises Http404."""
    job: Job = get_object_or_404(readable_jobs(access), pk=job_id)
    return job


def readable_sources(access: Access) -> Any:
    """Return the queryset of sources, each with its readers and its `document_count`."""
    documents = Document.objects.in_workspace(access.workspace).filter(source=OuterRef("pk")).order_by()
    count = documents.values("source").annotate(count=Count("*")).values("count")
    counted = _sources(access).annotate(document_count=Coalesce(Subquery(count), 0))
    return annotate_readers(counted, access.reader)


def get_source(access: Access, source_id: uuid.UUID) -> Source:
    """Return the source with its readers. Raises Http404."""
    source: Source = get_object_or_404(readable_sources(access), pk=source_id)
    return source


def list_unreadable(access: Access) -> Any:
    """Return the queryset of refused and quarantined files, source and version loaded."""
    files = unreadable_files(access.workspace)
    if access.reader.reads_all:
        return files
    return files.filter(version__source__in=_sources(access).order_by().values("pk"))


def narrow_unreadable(files: Any, *, sources: Sequence[str] = (), state: str = "") -> Any:
    """Return those of `sources` (keys or ids) in `state`; empty values narrow nothing."""
    if sources:
        files = files.filter(source_condition(sources, "version__source"))
    return files.filter(is_quarantined=state == UNREADABLE_STATES[1]) if state else files


def get_unreadable(access: Access, entry_id: int) -> Unreadable:
    """Return the refused or quarantined file. Raises Http404."""
    entry: Unreadable = get_object_or_404(list_unreadable(access), pk=entry_id)
    return entry


def check_replay(view: WorkspaceView, body: Any) -> None:
    """Raise Http404 if the caller may no longer see the job or source of a replayed response."""
    if view.access.reader.reads_all:
        return
    job = body.get("job")
    if job is not None:
        get_job(view.access, job["id"])
    else:
        get_source(view.access, view.kwargs.get("source_id", body.get("id")))


def job_address(access: Access, job: Job) -> str:
    """Return the URL path of the job."""
    return reverse("api-job", kwargs={"ws": access.workspace.slug, "job_id": job.pk})


def job_response(access: Access, job: Job) -> Response:
    """Return a 202 response with the job and its location."""
    body = {"job": JobSerializer(get_job(access, job.pk)).data}
    return Response(body, status=202, headers={"Location": job_address(access, job)})


def version_response(access: Access, added: AddedVersion) -> Response:
    """Return a response with a new version: 202 with the job that reads it, 201 if no job is needed."""
    version = SourceVersionSerializer(added.version).data
    if added.job is None:
        return Response({"version": version, "job": None}, status=201)
    body = {"version": version, "job": JobSerializer(get_job(access, added.job.pk)).data}
    return Response(body, status=202, headers={"Location": job_address(access, added.job)})


def filter_documents(access: Access, query: Mapping[str, Any]) -> Any:
    """Return the queryset of documents that match the clean fields of a `DocumentsQuery`."""
    documents = readable_documents(access.workspace, access.reader)
    if "path" in query:
        documents = documents.filter(path=query["path"])
    if "path_prefix" in query:
        documents = documents.filter(path__startswith=query["path_prefix"])
    if "source" in query:
        documents = documents.filter(source_condition(query["source"], "source"))
    if "version" in query:
        documents = documents.filter(version__tag__in=query["version"])
    return documents.annotate(natural_path=NaturalKey("path")) if query.get("order") == "path" else documents


def source_condition(keys_or_ids: Sequence[str], source: str) -> Q:
    """Return the condition that the foreign key `source` is one of the sources with these keys or ids."""
    ids = [id_ for id_ in map(parse_uuid, keys_or_ids) if id_ is not None]
    return Q(**{f"{source}__key__in": keys_or_ids}) | Q(**{f"{source}__in": ids})


def _sources(access: Access) -> Any:
    return visible_sources(access.workspace, access.reader)
