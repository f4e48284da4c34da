"""How fast a job goes, and how long it may still take."""

from datetime import datetime

from django.utils import timezone

from ingest.models import Job, JobState


def items_per_s(job: Job, *, now: datetime | None = None) -> float | None:
    """Return the finished items a second since the job began; None before there is anything to tell."""
    if job.started_at is None or not job.items_done:
        return None
    elapsed_s = ((job.finished_at or now or timezone.now()) - job.started_at).total_seconds()
    return round(job.items_done / elapsed_s, 3) if elapsed_s > 0 else None


def eta_s(job: Job, *, now: datetime | None = None) -> float | None:
    """Return the seconds a running job may still take at its rate; None when that can't be told."""
    rate = items_per_s(job, now=now)
    if job.state != JobState.RUNNING or not rate or job.items_total < job.items_done:
        return None
    return round((job.items_total - job.items_done) / rate, 1)
