"""Jobs: cancelled and retried by a caller, each act recorded in the audit log."""

from django.db import transaction

from ingest.jobs.queue.request import cancel
from ingest.jobs.queue.retry import retry
from ingest.models import Job, JobKind
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
