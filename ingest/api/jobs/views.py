"""`/workspaces/{ws}/jobs`: watch, cancel and retry jobs."""

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, ClassVar

from asgiref.sync import sync_to_async
from django.db import connection
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from ingest.api.jobs.serializers import (
    AskedJobSerializer,
    JobItemSerializer,
    JobItemsQuery,
    JobSerializer,
    JobsQuery,
    ReportedJobSerializer,
)
from ingest.api.querysets import check_replay, get_job, job_response, readable_jobs
from ingest.models import Job, JobItem
from ingest.services.jobs import cancel_job, dismiss_act, retry_job
from kebab.http.api.idempotency import idempotent
from kebab.http.api.openapi_schema import page_of
from kebab.http.api.outages import OUTAGES, outage_of
from kebab.http.api.sse import event_stream
from kebab.http.api.views import KeysetPage, WorkspaceView
from kebab.identity.caller import Access, Need, refresh_access
from kebab.identity.models import Role, TokenScope
from kebab.tenancy.current_workspace import acting_in

logger = logging.getLogger(__name__)

_POLL_S = 0.25
# A change of these fields causes an event; the rate is left out, as it changes all the time.
_PROGRESS = (
    "state",
    "items_total",
    "items_done",
    "bytes_done",
    "chunks_done",
    "current_path",
    "cancel_requested",
    "error",
)

Event = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Snapshot:
    """The state of the job at one moment."""

    progress: tuple[Any, ...]
    job: dict[str, Any]
    #: The job with its report, once it has finished.
    final_job: dict[str, Any] | None


async def job_events(access: Access, job_id: uuid.UUID) -> AsyncIterator[Event]:
    """Yield a `progress` event first and at every change, and an `end` event last.

    The stream ends without an `end` event when the job is deleted, the caller loses access, or the database
    fails.
    """
    last_progress: tuple[Any, ...] | None = None
    while (snapshot := await sync_to_async(_read_snapshot)(access, job_id)) is not None:
        if snapshot.progress != last_progress:
            last_progress = snapshot.progress
            yield "progress", snapshot.job
        if snapshot.final_job is not None:
            yield "end", snapshot.final_job
            return
        await asyncio.sleep(_POLL_S)


def _read_snapshot(access: Access, job_id: uuid.UUID) -> _Snapshot | None:
    try:
        with acting_in(access.workspace.pk):
            current = refresh_access(access)
            if current is None or not current.scopes:
                return None
            job = readable_jobs(current).filter(pk=job_id).first()
            return None if job is None else _build_snapshot(job)
    except OUTAGES as error:
        if outage_of(error) is None:
            raise
        logger.warning("the events of job %s break off: %s", job_id, error)
        return None
    finally:
        connection.close()  # there may be many streams, so none holds a connection between two polls


def _build_snapshot(job: Job) -> _Snapshot:
    return _Snapshot(
        progress=tuple(getattr(job, name) for name in _PROGRESS),
        job=dict(JobSerializer(job).data),
        final_job=dict(ReportedJobSerializer(job).data) if job.is_finished else None,
    )


_WATCH = Need(role=Role.VIEWER, scope="any")
_CHANGE = Need(role=Role.EDITOR, scope=TokenScope.INGEST)


class JobsView(WorkspaceView):
    """The jobs of a workspace."""

    required: ClassVar = {"GET": _WATCH}
    queries: ClassVar = {"GET": JobsQuery}

    @extend_schema(responses=page_of(JobSerializer))
    def get(self, request: Request, ws: str) -> Response:
        """List the jobs, newest first."""
        page = KeysetPage.from_view(self, ordering=("-created_at", "id"))
        chosen = {f"{name}__in": self.query[name] for name in ("state", "kind") if name in self.query}
        return page.response(readable_jobs(self.access).filter(**chosen), lambda row: JobSerializer(row).data)


class OneJobView(WorkspaceView):
    """One job."""

    required: ClassVar = {"GET": _WATCH}

    @extend_schema(responses=ReportedJobSerializer)
    def get(self, request: Request, ws: str, job_id: uuid.UUID) -> Response:
        """Return the job with its progress and report."""
        return Response(ReportedJobSerializer(get_job(self.access, job_id)).data)


class JobItemsView(WorkspaceView):
    """The documents of a job. Entries that its listing skipped are only in the report."""

    required: ClassVar = {"GET": _WATCH}
    queries: ClassVar = {"GET": JobItemsQuery}

    @extend_schema(responses=page_of(JobItemSerializer))
    def get(self, request: Request, ws: str, job_id: uuid.UUID) -> Response:
        """List the items in the order of their listing."""
        page = KeysetPage.from_view(self, ordering=("id",))
        items = JobItem.objects.of_job(get_job(self.access, job_id))
        if "state" in self.query:
            items = items.filter(state=self.query["state"])
        return page.response(items, lambda row: JobItemSerializer(row).data)


class JobEventsView(WorkspaceView):
    """A job's progress as a stream of events."""

    http_method_names = ["get"]
    required: ClassVar = {"GET": _WATCH}

    @extend_schema(responses={(200, "text/event-stream"): OpenApiTypes.STR})
    def get(self, request: Request, ws: str, job_id: uuid.UUID) -> StreamingHttpResponse:
        """Stream a `progress` event with the job at each change, and an `end` event with its report.

        The stream also ends, without the `end` event, when the caller may no longer see the job.
        """
        return event_stream(job_events(self.access, get_job(self.access, job_id).pk), lasts=True)


class JobCancelView(WorkspaceView):
    """The cancellation of a job."""

    required: ClassVar = {"POST": _CHANGE}
    with_body: ClassVar = ()

    @extend_schema(request=None, responses={202: AskedJobSerializer})
    @idempotent(recheck=check_replay)
    def post(self, request: Request, ws: str, job_id: uuid.UUID) -> Response:
        """Cancel the job: at once if it is queued, within seconds if it runs. What it has written stays."""
        job = get_job(self.access, job_id)
        return job_response(self.access, cancel_job(self.access, job))


class JobDismissalView(WorkspaceView):
    """The dismissal of a job that needs attention."""

    required: ClassVar = {"POST": _CHANGE}
    with_body: ClassVar = ()

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, ws: str, job_id: uuid.UUID) -> Response:
        """Unmark the job, and those of the same upload: nobody has to look at them any more."""
        dismiss_act(self.access, get_job(self.access, job_id))
        return Response(status=204)


class JobRetryView(WorkspaceView):
    """The retry of a job."""

    required: ClassVar = {"POST": _CHANGE}
    with_body: ClassVar = ()

    @extend_schema(request=None, responses={202: AskedJobSerializer})
    @idempotent(recheck=check_replay)
    def post(self, request: Request, ws: str, job_id: uuid.UUID) -> Response:
        """Run the failed items of a finished job again, as a new job."""
        job = get_job(self.access, job_id)
        return job_response(self.access, retry_job(self.access, job))
