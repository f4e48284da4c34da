"""Running a job: claim, work, and exactly one end, or another turn."""

import logging
import random
import uuid
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial

from django.db import transaction
from django.db.models.functions import Now

from ingest.errors import JobCancelled, JobFailed, LeaseLost
from ingest.jobs import delete_source, embed, hints, sync_source, upload
from ingest.jobs.lease import MAX_STALLED_ATTEMPTS, Lease, LeaseKeeper, claim
from ingest.jobs.report import final_counts
from ingest.jobs.request import request_embedding
from ingest.jobs.work import Ending, Work
from ingest.models import JobKind, JobState
from kebab.people.models import Workspace
from search.models import Source
from search.statistics import refresh_statistics

logger = logging.getLogger(__name__)

_WORK: Mapping[str, Callable[[Work], Ending]] = {
    JobKind.SYNC_SOURCE: sync_source.run,
    JobKind.INGEST_DOCUMENT: upload.run,
    JobKind.DELETE_SOURCE: delete_source.run,
    JobKind.DELETE_VERSION: delete_source.run_version,
    JobKind.EMBED: embed.run,
}
_WRITES_CHUNKS = {JobKind.SYNC_SOURCE, JobKind.INGEST_DOCUMENT}


def run_job(workspace_id: uuid.UUID, job_id: uuid.UUID) -> None:
    """Work on a job if it is due and nobody else does. Never raises: what failed stands in the job."""
    lease = claim(workspace_id, job_id)
    if lease is None:
        return
    try:
        _work(lease)
    except LeaseLost as error:
        logger.warning("%s", error)
    except JobCancelled:
        _end(lease, JobState.CANCELLED)
    except JobFailed as error:
        _end(lease, JobState.FAILED, error=str(error))
    except Exception:
        logger.exception("job %s broke off", job_id)
        _try_later(lease)
    hints.hint_due_jobs()


def _work(lease: Lease) -> None:
    job = lease.held().get()
    workspace = Workspace.objects.get(pk=lease.workspace_id)
    if job.stalled_attempts > MAX_STALLED_ATTEMPTS:
        raise JobFailed(f"Given up after {job.stalled_attempts - 1} attempts without progress. {job.error}")
    if job.cancel_requested:
        _end(lease, JobState.CANCELLED)
        return
    if job.kind != JobKind.EMBED:
        hints.ask_for_sync(workspace.pk)
    with LeaseKeeper(lease) as keeper:
        ending = _WORK[job.kind](Work(job=job, workspace=workspace, lease=lease, keeper=keeper))
    if ending is Ending.YIELDED:
        lease.write(lease_until=Now())
    else:
        refresh_statistics()
        _end(lease, JobState.CANCELLED if ending is Ending.CANCELLED else JobState.SUCCEEDED)


def _end(lease: Lease, state: JobState, error: str = "") -> None:
    """Bring the job to its one end, in one fenced transaction with what follows from it."""
    with transaction.atomic():
        _lock_source(lease)
        job = lease.held().select_for_update().first()
        if job is None:
            logger.warning("job %s ended under another attempt", lease.job_id)
            return
        if job.rerun_requested and state == JobState.SUCCEEDED:  # asked for since the work looked last
            lease.write(lease_until=Now())
            return
        if job.kind in _WRITES_CHUNKS and job.payload.get("embed", True):
            request_embedding(job.workspace_id)
        if job.kind == JobKind.SYNC_SOURCE:
            sync_source.note_end(job, state)
        head_seq = Workspace.objects.values_list("head_seq", flat=True).get(pk=job.workspace_id)
        lease.write(
            state=state,
            finished_at=Now(),
            lease_until=None,
            counts=final_counts(job),
            seq=head_seq,
            error=error,
        )
        if job.kind != JobKind.EMBED:
            transaction.on_commit(partial(hints.ask_for_sync, job.workspace_id))


def _lock_source(lease: Lease) -> None:
    """Lock the source of a sync before its job, as whoever asks for a sync does."""
    sync = lease.held().filter(kind=JobKind.SYNC_SOURCE)
    source = Source.objects.in_workspace(lease.workspace_id).filter(pk__in=sync.values("source_id"))
    source.select_for_update(no_key=True).first()


def _try_later(lease: Lease) -> None:
    """Leave the job to a later claim: after 5·2^n seconds, ten minutes at most, give or take a tenth."""
    stalled = lease.held().values_list("stalled_attempts", flat=True).first() or 0
    delay_s = min(600, 5 * 2**stalled) * random.uniform(0.9, 1.1)  # noqa: S311  # jitter, not a secret
    lease.held().update(lease_until=Now(), due_at=Now() + timedelta(seconds=delay_s))
