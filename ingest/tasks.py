"""Celery tasks: short names for what a hint wakes. Arguments are ids; the truth is in Postgres."""

import uuid

from celery import shared_task

from ingest.jobs.run import run_job
from ingest.jobs.sweep import sweep
from kebab import failpoints


@shared_task(name="ingest.run_job")
def run_job_task(workspace_id: str, job_id: str) -> None:
    """Work on a job if it is still due."""
    run_job(uuid.UUID(workspace_id), uuid.UUID(job_id))


@shared_task(name="ingest.run_embedding")
def run_embedding_task(workspace_id: str, job_id: str) -> None:
    """Work on an embedding job if it is still due; its own queue keeps it out of lexical search's way."""
    run_job(uuid.UUID(workspace_id), uuid.UUID(job_id))


@shared_task(name="ingest.sweep")
def sweep_task() -> None:
    """Hint at all that is due."""
    if failpoints.is_on("sweep"):
        sweep()
