"""Rows of `kebab list jobs`."""

from collections.abc import Iterable
from typing import Any

from ingest.models import Job
from kebab.cli.listings import Listing
from kebab.people.models import Workspace

JOB_COLUMNS = ("id", "kind", "source", "state", "done", "total", "chunks", "created_at", "seconds", "error")


def job_rows(workspace: Workspace, limit: int) -> Iterable[dict[str, Any]]:
    """Return a workspace's jobs, newest first."""
    jobs = Job.objects.in_workspace(workspace).select_related("source").order_by("-created_at", "id")
    for job in jobs[:limit]:
        yield {
            "id": job.pk,
            "kind": job.kind,
            "source": None if job.source is None else job.source.key,
            "state": job.state,
            "done": job.items_done,
            "total": job.items_total,
            "chunks": job.chunks_done,
            "attempt": job.attempt,
            "created_at": job.created_at,
            "started_at": job.started_at,
            "finished_at": job.finished_at,
            "seconds": _seconds(job),
            "error": job.error or None,
        }


def _seconds(job: Job) -> float | None:
    if job.started_at is None or job.finished_at is None:
        return None
    return round((job.finished_at - job.started_at).total_seconds(), 1)


LISTINGS = (Listing(kind="jobs", columns=JOB_COLUMNS, rows=job_rows),)
