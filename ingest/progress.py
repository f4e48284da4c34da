"""Rate and remaining time of a job."""

from datetime import datetime

from django.utils import timezone

from ingest.models import Job, JobState


def items_per_s(job: Job, *, now: datetime | None = None) -> float | None:
    """Return the finished items per second since the job started; None before the first one."""
    if job.started_at is None or not job.items_done:
        return None
    elapsed_s = ((job.finished_at or now or timezone.now()) - job.started_at).total_seconds()
    return round(job.items_done / elapsed_s, 3) if elapsed_s > 0 else None


def eta_s(job: Job, *, now: datetime | None = None) -> float | None:
    """Return the seconds that a running job may still take at its present rate; None if unknown."""
    rate = items_per_s(job, now=now)
    if job.state != JobState.RUNNING or not rate or job.items_total < job.items_done:
        return None
    return round((job.items_total - job.items_done) / rate, 1)
