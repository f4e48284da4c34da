"""Scheduled syncs: due rows in Postgres, whose clock decides. A doubled or late check does no harm."""

import random
import uuid
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from ingest.jobs.queue.failure_mail import mail_failed_sync
from ingest.jobs.queue.request import request_sync
from ingest.models import OPEN_STATES, Job, JobState
from kebab.database.on_commit import run_on_commit
from search.models import Source

#: In minutes. A listing takes seconds; a source that may be a month old needs no schedule.
LEAST_INTERVAL: Final = 5
LONGEST_INTERVAL: Final = 30 * 24 * 60
#: `requested_by` of scheduled jobs.
REQUESTED_BY: Final = "schedule"
# Each failure in a row doubles the pause, up to a day; after MAX_FAILURES the schedule is paused.
_LONGEST_PAUSE_MINUTES: Final = 24 * 60
MAX_FAILURES: Final = 8
# Lets schedules that were created together drift apart.
_JITTER: Final = 0.1
# Syncs requested by one call; the next call requests more.
_BATCH: Final = 200


def initial_schedule(every_minutes: int | None, *, at_once: bool) -> dict[str, object]:
    """Return the fields of a source with this schedule (None: no schedule); its failure count is reset."""
    fields: dict[str, object] = {"sync_every_minutes": every_minutes, "sync_failures": 0}
    if every_minutes is None:
        return {**fields, "next_sync_at": None}
    return {**fields, "next_sync_at": Now() if at_once else _jittered_time(every_minutes)}


def schedule_next_sync(job: Job, state: JobState) -> None:
    """Record the sync's end and the next due time in the source, in the job's last transaction.

    The first failure after a success is mailed to the source's owner.
    """
    if job.source_id is None:
        return
    sources = Source.objects.in_workspace(job.workspace_id).filter(pk=job.source_id)
    source = sources.first()
    if source is None:
        return
    failures = {JobState.SUCCEEDED: 0, JobState.FAILED: source.sync_failures + 1}.get(
        state, source.sync_failures
    )
    next_sync_at = None
    if source.sync_every_minutes is not None and failures < MAX_FAILURES:
        next_sync_at = _jittered_time(_pause_minutes(source.sync_every_minutes, failures))
    sources.update(last_sync_at=Now(), sync_failures=failures, next_sync_at=next_sync_at)
    if source.sync_failures == 0 and failures == 1:
        run_on_commit(mail_failed_sync, job.workspace_id, job.pk)


def request_due_syncs() -> int:
    """Request a sync of each source that is due; return the number of requests.

    The next due time is written with the request, so that of two concurrent callers only one requests the
    sync, and a sync that is lost or still runs doesn't end the schedule.
    """
    due = _due_sources().order_by("next_sync_at").values_list("workspace_id", "pk")
    return sum(_request_if_due(workspace_id, source_id) for workspace_id, source_id in due[:_BATCH])


def is_paused(source: Source) -> bool:
    """Return whether its schedule is paused, after too many failures, until a sync succeeds or the schedule
    is set again.
    """
    return source.sync_every_minutes is not None and source.sync_failures >= MAX_FAILURES


def _due_sources() -> QuerySet[Source]:
    return Source.objects.filter(next_sync_at__lte=Now(), sync_every_minutes__isnull=False)


def _request_if_due(workspace_id: uuid.UUID, source_id: uuid.UUID) -> bool:
    with transaction.atomic():
        rows = _due_sources().filter(workspace=workspace_id, pk=source_id)
        source = rows.select_for_update(no_key=True, skip_locked=True).first()
        if source is None or source.sync_every_minutes is None:
            return False
        Source.objects.in_workspace(source.workspace_id).filter(pk=source.pk).update(
            next_sync_at=_jittered_time(source.sync_every_minutes)
        )
        syncs = Job.objects.in_workspace(source.workspace_id).whole_syncs()
        if syncs.filter(source=source.pk, state__in=OPEN_STATES).exists():
            return False
        request_sync(source, requested_by=REQUESTED_BY)
        return True


def _pause_minutes(every_minutes: int, failures: int) -> float:
    if failures == 0:
        return every_minutes
    return max(every_minutes, min(_LONGEST_PAUSE_MINUTES, every_minutes * 2.0**failures))


def _jittered_time(minutes: float) -> object:
    """Return the time in `minutes`, with a jitter of a tenth, by Postgres' clock."""
    jitter = random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311  # no secret
    return Now() + timedelta(minutes=minutes * jitter)
