"""The documents, jobs and sources that a caller may see, with what is shown of them."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.db.models import OuterRef, Q, Subquery
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.response import Response

from ingest.api.job_serializers import JobSerializer
from ingest.api.source_serializers import SourceVersionSerializer
from ingest.models import Job
from ingest.sources import as_uuid
from ingest.versions import AddedVersion
from kebab.people.models import Workspace
from search.api.reading import readable_documents
from search.models import Source


def readable_jobs(workspace: Workspace | uuid.UUID) -> Any:
    """Give the queryset of jobs, each with its `source_key`, None when the source is gone or it has none."""
    source = Source.objects.in_workspace(workspace).filter(pk=OuterRef("source_id"))
    return Job.objects.in_workspace(workspace).annotate(source_key=Subquery(source.values("key")))


def one_job(workspace: Workspace, job_id: uuid.UUID) -> Job:
    """Give the job with all that is shown of it. Raises Http404."""
    job: Job = get_object_or_404(readable_jobs(workspace), pk=job_id)
    return job


def one_source(workspace: Workspace, source_id: uuid.UUID) -> Source:
    """Give the source. Raises Http404."""
    source: Source = get_object_or_404(Source.objects.in_workspace(workspace), pk=source_id)
    return source


def job_address(workspace: Workspace, job: Job) -> str:
    """Give the path where the job can be watched."""
    return reverse("api-job", kwargs={"ws": workspace.slug, "job_id": job.pk})


def job_answer(workspace: Workspace, job: Job) -> Response:
    """Answer 202 with the job as it stands and where to watch it."""
    body = {"job": JobSerializer(one_job(workspace, job.pk)).data}
    return Response(body, status=202, headers={"Location": job_address(workspace, job)})


def version_answer(workspace: Workspace, added: AddedVersion) -> Response:
    """Answer with a new version: 202 with the job that reads it, 201 where there is nothing to read."""
    version = SourceVersionSerializer(added.version).data
    if added.job is None:
        return Response({"version": version, "job": None}, status=201)
    body = {"version": version, "job": JobSerializer(one_job(workspace, added.job.pk)).data}
    return Response(body, status=202, headers={"Location": job_address(workspace, added.job)})


def listed_documents(workspace: Workspace, query: Mapping[str, Any]) -> Any:
    """Give the queryset of documents that the clean `DocumentsQuery` asks for."""
    documents = readable_documents(workspace)
    if "path_prefix" in query:
        documents = documents.filter(path__startswith=query["path_prefix"])
    if "source" in query:
        ids = [id_ for id_ in map(as_uuid, query["source"]) if id_ is not None]
        documents = documents.filter(Q(source__key__in=query["source"]) | Q(source__in=ids))
    if "version" in query:
        documents = documents.filter(version__tag__in=query["version"])
    return documents
