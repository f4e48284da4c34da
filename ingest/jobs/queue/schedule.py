"""Syncs by schedule: due rows in Postgres, whose clock decides. Asking twice, or late, does no harm."""

import random
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from ingest.jobs.queue.request import request_sync
from ingest.models import OPEN_STATES, Job, JobState
from search.models import Source

#: In minutes: a listing takes seconds, and a source that nobody looks at for a month needs no schedule.
LEAST_INTERVAL: Final = 5
LONGEST_INTERVAL: Final = 30 * 24 * 60
#: Who asks, in the jobs.
REQUESTED_BY: Final = "schedule"
# Each failure in a row doubles the pause, up to a day; then the schedule waits for someone to look.
_LONGEST_PAUSE_MINUTES: Final = 24 * 60
MAX_FAILURES: Final = 8
# Schedules that were made together drift apart.
_JITTER: Final = 0.1
# Asked for at one look; the others come with the next.
_BATCH: Final = 200


def first_run(every_minutes: int | None, *, at_once: bool) -> dict[str, object]:
    """Return the fields of a source that gets this schedule, or None for none; failures are forgotten."""
    fields: dict[str, object] = {"sync_every_minutes": every_minutes, "sync_failures": 0}
    if every_minutes is None:
        return {**fields, "next_sync_at": None}
    return {**fields, "next_sync_at": Now() if at_once else _after(every_minutes)}


def note_run(job: Job, state: JobState) -> None:
    """Say in the source how its sync ended and when the next is due; part of the job's last transaction."""
    sources = Source.objects.in_workspace(job.workspace_id).filter(pk=job.source_id)
    source = sources.first()
    if source is None:
        return
    failures = {JobState.SUCCEEDED: 0, JobState.FAILED: source.sync_failures + 1}.get(
        state, source.sync_failures
    )
    next_sync_at = None
    if source.sync_every_minutes is not None and failures < MAX_FAILURES:
        next_sync_at = _after(_pause_minutes(source.sync_every_minutes, failures))
    sources.update(last_sync_at=Now(), sync_failures=failures, next_sync_at=next_sync_at)


def request_due_syncs() -> int:
    """Ask for a sync of each source whose time has come, and give how many.

    The next time is written with the request, so that of two who look at once only one asks, and a sync
    that is lost or still runs doesn't end the schedule.
    """
    due = _due().order_by("next_sync_at").values_list("workspace_id", "pk")
    return sum(_request_if_due(workspace_id, source_id) for workspace_id, source_id in due[:_BATCH])


def is_paused(source: Source) -> bool:
    """Return whether its schedule waits, after too many failures, until a sync succeeds or it is stated
    again.
    """
    return source.sync_every_minutes is not None and source.sync_failures >= MAX_FAILURES


def _due() -> QuerySet[Source]:
    return Source.objects.filter(next_sync_at__lte=Now(), sync_every_minutes__isnull=False)


def _request_if_due(workspace_id: object, source_id: object) -> bool:
    with transaction.atomic():
        rows = _due().filter(workspace=workspace_id, pk=source_id)
        source = rows.select_for_update(no_key=True, skip_locked=True).first()
        if source is None or source.sync_every_minutes is None:
            return False
        Source.objects.in_workspace(source.workspace_id).filter(pk=source.pk).update(
            next_sync_at=_after(source.sync_every_minutes)
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


def _after(minutes: float) -> object:
    """Return the time in so many minutes, give or take a tenth, by Postgres' clock."""
    jitter = random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311  # no secret
    return Now() + timedelta(minutes=minutes * jitter)
