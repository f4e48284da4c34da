"""Rate and remaining time of a job."""

from collections.abc import Mapping
from datetime import datetime

from django.utils import timezone

from ingest.models import Job, JobKind, JobState

_MOST_ROWS = 200


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


def embedding_rows() -> list[Mapping[str, object]]:
    """Return the progress of the embedding jobs that run, of at most 200 workspaces, by slug."""
    jobs = Job.objects.filter(kind=JobKind.EMBED, state=JobState.RUNNING).select_related("workspace")
    return [
        {
            "workspace": job.workspace.slug,
            "done": job.items_done,
            "chunks": job.items_total,
            "chunks_per_s": items_per_s(job),
            "eta_s": eta_s(job),
        }
        for job in jobs.order_by("workspace__slug")[:_MOST_ROWS]
    ]
