"""Jobs: cancelled and retried by a caller, each act recorded in the audit log."""

from typing import Any, Final

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from ingest.jobs.queue.request import cancel, cancel_all, lock_source
from ingest.jobs.queue.schedule import can_retry, retry
from ingest.models import OPEN_STATES, UPLOAD_KINDS, ItemState, Job, JobItem, JobKind, JobState
from ingest.services.quotas import check_jobs
from kebab.identity.caller import Access
from kebab.people import audit


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
