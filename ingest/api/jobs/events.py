"""A job's progress as a stream of events, polled from Postgres until the caller loses access."""

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection

from ingest.api.jobs.serializers import JobSerializer, ReportedJobSerializer
from ingest.api.querysets import readable_jobs
from ingest.models import Job
from kebab.http.api.outages import OUTAGES, outage_of
from kebab.identity.caller import Access, refresh_access
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
