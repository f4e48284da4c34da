"""A job's progress as a stream of events, read from Postgres for as long as its reader may see it."""

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
from kebab.people.access.caller import Access, access_now
from kebab.tenancy.current_workspace import acting_in

logger = logging.getLogger(__name__)

_POLL_S = 0.25
# What makes a new event; the rate changes with the clock.
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
class _Look:
    """The job at one moment."""

    progress: tuple[Any, ...]
    job: dict[str, Any]
    #: The job with its report, once it has ended.
    ended: dict[str, Any] | None


async def job_events(access: Access, job_id: uuid.UUID) -> AsyncIterator[Event]:
    """Return a `progress` event at first and at every change, and an `end` event last.

    Ends without one when the job is gone, or the caller's right to see it, or the database.
    """
    told: tuple[Any, ...] | None = None
    while (look := await sync_to_async(_look)(access, job_id)) is not None:
        if look.progress != told:
            told = look.progress
            yield "progress", look.job
        if look.ended is not None:
            yield "end", look.ended
            return
        await asyncio.sleep(_POLL_S)


def _look(access: Access, job_id: uuid.UUID) -> _Look | None:
    try:
        with acting_in(access.workspace.pk):
            current = access_now(access)
            if current is None or not current.scopes:
                return None
            job = readable_jobs(current).filter(pk=job_id).first()
            return None if job is None else _seen(job)
    except OUTAGES as error:
        if outage_of(error) is None:
            raise
        logger.warning("the events of job %s break off: %s", job_id, error)
        return None
    finally:
        connection.close()  # streams are many and look seldom: between two looks they hold no connection


def _seen(job: Job) -> _Look:
    return _Look(
        progress=tuple(getattr(job, name) for name in _PROGRESS),
        job=dict(JobSerializer(job).data),
        ended=dict(ReportedJobSerializer(job).data) if job.is_finished else None,
    )
