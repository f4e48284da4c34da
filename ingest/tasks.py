"""Celery tasks, which hints and the beat schedule start. Arguments are ids; all state is in Postgres."""

import uuid

from celery import shared_task

from ingest.jobs.queue.hints import hint_due_jobs
from ingest.jobs.queue.request import request_embedding
from ingest.jobs.queue.retention import release_expired, release_orphaned_blobs
from ingest.jobs.queue.run import run_job
from ingest.jobs.queue.schedule import request_due_syncs
from ingest.metrics import SWEEPS
from ingest.quality_gate.older_chunks import request_replacements
from kebab.runtime import failpoints
from kebab.tenancy.current_workspace import acting_everywhere, acting_in
from search.vectors.lifecycle import workspaces_with_due_spaces


@shared_task(name="ingest.run_job")
def run_job_task(workspace_id: str, job_id: str) -> None:
    """Run a job if it is still due."""
    _run(uuid.UUID(workspace_id), uuid.UUID(job_id))


@shared_task(name="ingest.run_embedding")
def run_embedding_task(workspace_id: str, job_id: str) -> None:
    """Run an embedding job if it is still due; its own queue keeps it out of lexical search's way."""
    _run(uuid.UUID(workspace_id), uuid.UUID(job_id))


@shared_task(name="ingest.sweep")
def sweep_task() -> None:
    """Send hints for due jobs that no worker runs: their hint was lost, or their lease ran out."""
    if failpoints.is_on("sweep"):
        SWEEPS.add()
        hint_due_jobs()


@shared_task(name="ingest.end_spaces")
def end_spaces_task() -> None:
    """Request embedding jobs that delete expired spaces, or build the model of a workspace's languages."""
    with acting_everywhere():
        workspace_ids = workspaces_with_due_spaces()
    for workspace_id in workspace_ids:
        with acting_in(workspace_id):
            request_embedding(workspace_id)


@shared_task(name="ingest.release_expired")
def release_expired_task() -> None:
    """Delete blobs of uploads whose retention for a retry is over, and orphaned blobs."""
    with acting_everywhere():
        release_expired()
        release_orphaned_blobs()


@shared_task(name="ingest.request_due_syncs")
def request_due_syncs_task() -> None:
    """Request the scheduled syncs that are due."""
    with acting_everywhere():
        request_due_syncs()


@shared_task(name="ingest.replace_older_chunks")
def replace_older_chunks_task() -> None:
    """Request new chunks, or the gate's verdict on them, where there are chunks of an older chunker."""
    request_replacements()


def _run(workspace_id: uuid.UUID, job_id: uuid.UUID) -> None:
    with acting_in(workspace_id):
        run_job(workspace_id, job_id)
