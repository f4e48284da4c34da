"""Scheduled syncs and retries: due rows in Postgres, whose clock decides. A late check does no harm."""

import random
import uuid
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from ingest.errors import JobNotOpen
from ingest.jobs.queue.failure_mail import mail_failed_sync
from ingest.jobs.queue.request import (
    create_source_job,
    request_archive,
    request_document,
    request_embedding,
    request_evaluation,
    request_gate,
    request_members,
    request_source_deletion,
    request_sync,
    request_version_deletion,
)
from ingest.jobs.queue.retention import (
    hold_retained_blobs,
    is_retried_by_member,
    missing_upload_message,
    unfinished_items,
)
from ingest.models import MEMBER_KINDS, OPEN_STATES, UPLOAD_KINDS, ItemState, Job, JobItem, JobKind, JobState
from kebab.database.transactions import run_on_commit
from search.models import Run, RunState, Source

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


@transaction.atomic
def retry(job: Job, *, requested_by: str = "") -> Job:
    """Return a new job for the failed items of `job`, or for all its items if it was broken off.

    An upload is retried in the same act.

    Raises JobNotOpen when the job is still open, or nothing in it failed.
    """
    _raise_if_refused(_retry_refusal(job))
    failed_paths = list(_failed_items(job).order_by("id").values_list("path", flat=True))
    again = _repeat_job(job, failed_paths, requested_by)
    superseded = {"refused_items": 0} if job.kind == JobKind.INGEST_DOCUMENT else {}
    rows = Job.objects.in_workspace(job.workspace_id).filter(pk=job.pk)
    rows.update(needs_attention=False, **superseded)
    return again


def can_retry(job: Job) -> bool:
    """Return whether `retry` would return a job now."""
    return not _retry_refusal(job)


def _retry_refusal(job: Job) -> str:
    if not job.is_finished:
        return f"Job {job.pk} is still {job.state}; wait for its end or cancel it."
    if job.state == JobState.SUCCEEDED and not _failed_items(job).exists():
        return f"Nothing failed in job {job.pk}; there is nothing to retry."
    if job.kind == JobKind.EVALUATE:
        return _run_refusal(job, _evaluation_runs(job).first())
    if job.source is None and job.kind not in (JobKind.EMBED, JobKind.GATE):
        return f"The source of job {job.pk} is gone; there is nothing to retry."
    return missing_upload_message(job) if job.kind in UPLOAD_KINDS else ""


def _raise_if_refused(why: str) -> None:
    if why:
        raise JobNotOpen(why)


def _failed_items(job: Job) -> QuerySet[JobItem]:
    return JobItem.objects.of_job(job).filter(state=ItemState.FAILED)


def _repeat_job(job: Job, failed_paths: list[str], requested_by: str) -> Job:
    if job.kind == JobKind.EMBED:
        return request_embedding(job.workspace_id, requested_by=requested_by, at_once=True)
    if job.kind == JobKind.EVALUATE:
        return _repeat_evaluation(job, requested_by)
    if job.kind == JobKind.GATE:
        return request_gate(job.workspace_id, job.payload, requested_by=requested_by)
    assert job.source is not None  # noqa: S101  # the caller has checked
    if job.kind == JobKind.DELETE_SOURCE:
        return request_source_deletion(job.source, requested_by=requested_by)
    if job.kind == JobKind.DELETE_VERSION:
        return request_version_deletion(job.source, job.payload["version"], requested_by=requested_by)
    if job.kind == JobKind.RECHUNK:
        return create_source_job(job.source, JobKind.RECHUNK, job.payload, requested_by=requested_by)
    if job.kind in UPLOAD_KINDS:
        hold_retained_blobs(job)
        _raise_if_refused(missing_upload_message(job))
    if job.kind == JobKind.INGEST_DOCUMENT:
        return request_document(
            job.source, {**job.payload, "anew": True}, requested_by=requested_by, batch=job.batch or job.pk
        )
    if job.kind in MEMBER_KINDS:
        return _repeat_members(job, requested_by)
    # A job that was broken off has not tried all its paths.
    only = {"only_paths": failed_paths} if job.state == JobState.SUCCEEDED else {}
    return request_sync(job.source, requested_by=requested_by, **{**job.payload, **only})


def _repeat_evaluation(job: Job, requested_by: str) -> Job:
    """Return a job that continues the evaluation run: topics that have a ranking are not evaluated again."""
    run = _evaluation_runs(job).select_for_update().first()
    _raise_if_refused(_run_refusal(job, run))
    assert run is not None  # noqa: S101  # refused above otherwise
    return request_evaluation(run, requested_by=requested_by)


def _evaluation_runs(job: Job) -> QuerySet[Run]:
    return Run.objects.in_workspace(job.workspace_id).filter(pk=job.payload["run"])


def _run_refusal(job: Job, run: Run | None) -> str:
    if run is None:
        return f"The run of job {job.pk} is gone; there is nothing to retry."
    if run.state not in (RunState.FAILED, RunState.CANCELLED):
        return f"Its run is {run.state} under job {run.job_id}; there is nothing to retry."
    return ""


def _repeat_members(job: Job, requested_by: str) -> Job:
    """Return a job for the unfinished members, whose blobs are retained, or for the archive if that is."""
    assert job.source is not None  # noqa: S101  # the caller has checked
    payload = {**job.payload, "anew": True}
    if is_retried_by_member(job):
        payload["blob"] = ""
    elif job.kind == JobKind.INGEST_ARCHIVE:
        return request_archive(job.source, payload, requested_by=requested_by, batch=job.batch or job.pk)
    members = unfinished_items(JobItem.objects.of_job(job)).order_by("id")
    return request_members(
        job.source,
        JobKind(job.kind),
        payload,
        [JobItem(path=each.path, blob=each.blob, record=each.record) for each in members],
        requested_by=requested_by,
        batch=job.batch or job.pk,
    )
