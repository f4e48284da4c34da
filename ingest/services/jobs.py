"""Jobs stopped and done again by a caller, each act with its row in the audit log."""

from django.db import transaction

from ingest.jobs.queue.request import cancel, retry
from ingest.models import Job, JobKind
from ingest.services.quotas import check_jobs
from kebab.people import audit
from kebab.people.access.caller import Access


def cancel_job(access: Access, job: Job) -> Job:
    """Ask for the job's end, and give it as it is then. Raises what `cancel` raises."""
    with transaction.atomic():
        asked = cancel(job)
        audit.record(access, "job.cancelled", str(job.pk), kind=job.kind)
    return asked


def retry_job(access: Access, job: Job) -> Job:
    """Return the new job that does again what failed in `job`.

    Raises RateLimited for too many jobs, of which embedding is none, and what `retry` raises.
    """
    if job.kind != JobKind.EMBED:
        check_jobs(access.workspace)
    with transaction.atomic():
        again = retry(job, requested_by=access.actor)
        audit.record(access, "job.retried", str(job.pk), job=str(again.pk))
    return again
