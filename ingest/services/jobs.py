"""Jobs: cancelled and retried by a caller, each act recorded in the audit log."""

import time
from itertools import chain, repeat
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from ingest.jobs.queue.report import refusal_message, refused_items
from ingest.jobs.queue.request import cancel, cancel_all, lock_source
from ingest.jobs.queue.schedule import can_retry, retry
from ingest.models import OPEN_STATES, UPLOAD_KINDS, ItemState, Job, JobItem, JobKind, JobState
from ingest.services.quotas import check_jobs
from kebab.database.querysets import first_or_not_found
from kebab.errors import Unprocessable
from kebab.identity.caller import Access
from kebab.people import audit
from search.mirror import local_mirrors
from search.retrieval.errors import NotSearchableYet


def cancel_job(access: Access, job: Job) -> Job:
    """Cancel the job and return it in its new state. Raises the errors of `cancel`."""
    with transaction.atomic():
        cancelled = cancel(job)
        audit.record(access, "job.cancelled", str(job.pk), kind=job.kind)
    return cancelled


def retry_job(access: Access, job: Job) -> Job:
    """Return the new job that retries what failed in `job`.

    Raises RateLimited for too many jobs, embedding jobs excepted, and the errors of `retry`.
    """
    if job.kind != JobKind.EMBED:
        check_jobs(access.workspace)
    with transaction.atomic():
        new_job = retry(job, requested_by=access.actor)
        audit.record(access, "job.retried", str(job.pk), job=str(new_job.pk))
    return new_job


#: The most uploads that are retried at once.
MOST_RETRIED: Final = 100


def cancel_act(access: Access, first: Job) -> None:
    """Cancel the open jobs of the act of `first`. Raises the errors of `cancel`."""
    open_jobs = _jobs(first).filter(kind__in=UPLOAD_KINDS, state__in=OPEN_STATES)
    if first.source is None or first.kind not in UPLOAD_KINDS or not open_jobs.exists():
        cancel_job(access, first)
        return
    with transaction.atomic():
        lock_source(first.source)
        cancel_all(first.source, open_jobs)
        audit.record(access, "job.cancelled", str(first.pk), kind=first.kind)


def retryable_jobs(first: Job, *, limit: int = MOST_RETRIED) -> list[Job]:
    """Return the failed jobs of the act of `first` that can be retried."""
    failed_items = JobItem.objects.in_workspace(first.workspace_id).filter(
        job=OuterRef("pk"), state=ItemState.FAILED
    )
    is_failed = Q(state=JobState.FAILED) | Exists(failed_items)
    failed = _jobs(first).filter(is_failed, needs_attention=True).select_related("source")
    jobs = [job for job in failed.order_by("created_at", "id")[:limit] if can_retry(job)]
    # A job of a time before jobs were marked, or one that was cancelled.
    return jobs or ([first] if can_retry(first) and not first.needs_attention else [])


def retry_act(access: Access, first: Job) -> list[Job]:
    """Return the new jobs that retry what failed in the act of `first`.

    Raises what `retry_job` raises, and JobNotOpen when there is nothing to retry.
    """
    with transaction.atomic():
        return [retry_job(access, job) for job in retryable_jobs(first) or [first]]


def dismiss_act(access: Access, first: Job) -> None:
    """Unmark the act of `first`: nobody has to look at it any more."""
    with transaction.atomic():
        if _jobs(first).filter(needs_attention=True).update(needs_attention=False):
            audit.record(access, "job.dismissed", str(first.pk), kind=first.kind)


def _jobs(first: Job) -> Any:
    return Job.objects.in_workspace(first.workspace_id).filter(Q(pk=first.pk) | Q(batch=first.pk))


# Poll intervals: a short job is noticed at once, a long one is polled twenty times a second.
_FIRST_STEPS_S = (0.005, 0.005, 0.01, 0.01, 0.02, 0.03, 0.04)
_STEP_S = 0.05


def wait_until_searchable(job: Job, *, limit_s: float | None = None) -> Job | None:
    """Wait until an upload's job has ended and its writes are searchable here; return the ended job.

    None when that takes longer than `limit_s`, or KEBAB_WAIT_LIMIT_S. Raises Unprocessable with the reason
    when the one document of the job was not ingested (see `refusals_of` for those of several), NotFound when
    the workspace was deleted.
    """
    deadline = time.monotonic() + (settings.KEBAB_WAIT_LIMIT_S if limit_s is None else limit_s)
    ended_job = _wait_for_end(job, deadline)
    if ended_job is None:
        return None
    if ended_job.state != JobState.SUCCEEDED:
        name = ended_job.payload.get("path", ended_job.payload.get("archive"))
        raise _refusal(name, f"its job {ended_job.state}", ended_job.error)
    if (refusal := refusals_of(ended_job).get(ended_job.payload.get("path", ""))) is not None:
        raise refusal
    try:
        local_mirrors.wait_for_seq(
            ended_job.workspace_id, ended_job.seq or 0, limit_s=max(0.0, deadline - time.monotonic())
        )
    except NotSearchableYet:
        return None
    return ended_job


def _wait_for_end(job: Job, deadline: float) -> Job | None:
    rows = Job.objects.in_workspace(job.workspace_id).filter(pk=job.pk)
    for step_s in chain(_FIRST_STEPS_S, repeat(_STEP_S)):
        row = first_or_not_found(rows)
        if row.is_finished:
            return row
        if time.monotonic() + step_s > deadline:
            return None
        time.sleep(step_s)
    return None


def refusals_of(ended_job: Job) -> dict[str, Unprocessable]:
    """Return, by path, why documents that a job was to ingest were not ingested."""
    return {item.path: _refusal(item.path, item.reason, item.detail) for item in refused_items(ended_job)}


def _refusal(name: str | None, reason: str, detail: str) -> Unprocessable:
    return Unprocessable(refusal_message(name, reason, detail), code="not_ingested")
