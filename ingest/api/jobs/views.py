"""`/workspaces/{ws}/jobs`: watching, stopping and repeating work."""

import uuid
from typing import ClassVar

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from ingest.api.jobs.events import job_events
from ingest.api.jobs.serializers import (
    AskedJobSerializer,
    JobItemSerializer,
    JobItemsQuery,
    JobSerializer,
    JobsQuery,
    ReportedJobSerializer,
)
from ingest.api.querysets import check_kept_answer, job_answer, one_job, readable_jobs
from ingest.models import JobItem
from ingest.services.jobs import cancel_job, retry_job
from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.pagination import KeysetPage
from kebab.http.api.permissions import Need
from kebab.http.api.sse import event_stream
from kebab.http.api.views import WorkspaceView
from kebab.people.models import Role, Scope

_WATCH = Need(role=Role.VIEWER, scope="any")
_CHANGE = Need(role=Role.EDITOR, scope=Scope.INGEST)


class JobsView(WorkspaceView):
    """The jobs of a workspace."""

    required: ClassVar = {"GET": _WATCH}
    queries: ClassVar = {"GET": JobsQuery}

    @extend_schema(responses=page_of(JobSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the jobs, newest first."""
        page = KeysetPage.requested(self, ordering=("-created_at", "id"))
        chosen = {f"{name}__in": self.query[name] for name in ("state", "kind") if name in self.query}
        return page.response(readable_jobs(self.access).filter(**chosen), lambda row: JobSerializer(row).data)


class OneJobView(WorkspaceView):
    """One job."""

    required: ClassVar = {"GET": _WATCH}

    @extend_schema(responses=ReportedJobSerializer)
    def get(self, request: Request, ws: str, job_id: uuid.UUID) -> Response:
        """Return the job with its progress and report."""
        return Response(ReportedJobSerializer(one_job(self.access, job_id)).data)


class JobItemsView(WorkspaceView):
    """The documents that a job has to do with; what its listing left out is in the report alone."""

    required: ClassVar = {"GET": _WATCH}
    queries: ClassVar = {"GET": JobItemsQuery}

    @extend_schema(responses=page_of(JobItemSerializer))
    def get(self, request: Request, ws: str, job_id: uuid.UUID) -> Response:
        """List the items in the order of their listing."""
        page = KeysetPage.requested(self, ordering=("id",))
        items = JobItem.objects.in_workspace(self.workspace).filter(job=one_job(self.access, job_id))
        if "state" in self.query:
            items = items.filter(state=self.query["state"])
        return page.response(items, lambda row: JobItemSerializer(row).data)


class JobEventsView(WorkspaceView):
    """A job's progress as it happens."""

    http_method_names: ClassVar = ["get"]
    required: ClassVar = {"GET": _WATCH}

    @extend_schema(responses={(200, "text/event-stream"): OpenApiTypes.STR})
    def get(self, request: Request, ws: str, job_id: uuid.UUID) -> StreamingHttpResponse:
        """Stream `progress` events, each the job, when something changes, and an `end` event with its report.

        The stream also ends, without that event, when the caller may not see the job any more.
        """
        return event_stream(job_events(self.access, one_job(self.access, job_id).pk), lasts=True)


class JobCancelView(WorkspaceView):
    """Stopping a job."""

    required: ClassVar = {"POST": _CHANGE}
    with_body: ClassVar = ()

    @extend_schema(request=None, responses={202: AskedJobSerializer})
    @idempotent(recheck=check_kept_answer)
    def post(self, request: Request, ws: str, job_id: uuid.UUID) -> Response:
        """Cancel the job: at once when it is queued, within seconds when it runs. What it wrote stays."""
        job = one_job(self.access, job_id)
        return job_answer(self.access, cancel_job(self.access, job))


class JobRetryView(WorkspaceView):
    """Doing a job again."""

    required: ClassVar = {"POST": _CHANGE}
    with_body: ClassVar = ()

    @extend_schema(request=None, responses={202: AskedJobSerializer})
    @idempotent(recheck=check_kept_answer)
    def post(self, request: Request, ws: str, job_id: uuid.UUID) -> Response:
        """Run what failed in an ended job once more, as a new job."""
        job = one_job(self.access, job_id)
        return job_answer(self.access, retry_job(self.access, job))
