"""Celery tasks: short names for what a hint wakes. Arguments are ids; the truth is in Postgres."""

import uuid

from celery import shared_task

from ingest.jobs.queue.hints import hint_due_jobs
from ingest.jobs.queue.request import request_embedding
from ingest.jobs.queue.retention import release_expired, release_forgotten
from ingest.jobs.queue.run import run_job
from ingest.jobs.queue.schedule import request_due_syncs
from ingest.metrics import SWEEPS
from kebab.runtime import failpoints
from kebab.tenancy.current_workspace import acting_everywhere, acting_in
from search.vectors.lifecycle import workspaces_with_ended_spaces


@shared_task(name="ingest.run_job")
def run_job_task(workspace_id: str, job_id: str) -> None:
    """Work on a job if it is still due."""
    _run(uuid.UUID(workspace_id), uuid.UUID(job_id))


@shared_task(name="ingest.run_embedding")
def run_embedding_task(workspace_id: str, job_id: str) -> None:
    """Work on an embedding job if it is still due; its own queue keeps it out of lexical search's way."""
    _run(uuid.UUID(workspace_id), uuid.UUID(job_id))


@shared_task(name="ingest.sweep")
def sweep_task() -> None:
    """Find what nobody does: jobs whose hint got lost, whose lease ran out."""
    if failpoints.is_on("sweep"):
        SWEEPS.add()
        hint_due_jobs()


@shared_task(name="ingest.end_spaces")
def end_spaces_task() -> None:
    """Ask for the deletion of embedding spaces that were kept long enough."""
    with acting_everywhere():
        workspace_ids = workspaces_with_ended_spaces()
    for workspace_id in workspace_ids:
        with acting_in(workspace_id):
            request_embedding(workspace_id)


@shared_task(name="ingest.release_expired")
def release_expired_task() -> None:
    """Let go of the bytes of uploads that were kept for a retry long enough, and of what was forgotten."""
    with acting_everywhere():
        release_expired()
        release_forgotten()


@shared_task(name="ingest.request_due_syncs")
def request_due_syncs_task() -> None:
    """Ask for the syncs whose time has come."""
    with acting_everywhere():
        request_due_syncs()


def _run(workspace_id: uuid.UUID, job_id: uuid.UUID) -> None:
    with acting_in(workspace_id):
        run_job(workspace_id, job_id)
