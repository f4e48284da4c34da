"""Running a job: claim, work, and exactly one end, or another turn."""

import logging
import random
import uuid
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial

from django.db import Error, transaction
from django.db.models import F
from django.db.models.functions import Greatest, Now
from django.utils import timezone

from ingest.errors import JobCancelled, JobFailed, LeaseLost, TurnOver
from ingest.jobs.kinds import archive, delete_source, embed, evaluate, gate, rechunk, sync_source, upload
from ingest.jobs.kinds.upload_completion import note_ended_uploads
from ingest.jobs.queue import hints, schedule
from ingest.jobs.queue.context import Ending, Work
from ingest.jobs.queue.lease import MAX_STALLED_ATTEMPTS, Lease, LeaseKeeper, claim
from ingest.jobs.queue.report import final_counts
from ingest.jobs.queue.request import note_run_end, request_embedding
from ingest.jobs.queue.retention import release_ended
from ingest.jobs.queue.store_outages import await_room, full_disk
from ingest.metrics import ENDED, JOB_SECONDS, PUT_OFF
from ingest.models import READS_DOCUMENTS, UPLOAD_KINDS, Job, JobKind, JobState
from kebab.database.on_commit import once_committed
from kebab.observability import tracing
from kebab.observability.log_context import about
from kebab.people.models import Workspace
from kebab.stack.supervisor import worker_stop
from search.corpus.table_statistics import refresh_statistics
from search.models import Source
from search.retrieval.errors import EmbedderUnavailable

logger = logging.getLogger(__name__)

_WORK: Mapping[str, Callable[[Work], Ending]] = {
    JobKind.SYNC_SOURCE: sync_source.run,
    JobKind.INGEST_DOCUMENT: upload.run,
    JobKind.INGEST_ARCHIVE: archive.run,
    JobKind.DELETE_SOURCE: delete_source.run,
    JobKind.DELETE_VERSION: delete_source.run_version,
    JobKind.EMBED: embed.run,
    JobKind.EVALUATE: evaluate.run,
    JobKind.RECHUNK: rechunk.run,
    JobKind.GATE: gate.run,
}
# However long an embedder asks to be left alone.
_LONGEST_WAIT_S = 3_600.0


def run_job(workspace_id: uuid.UUID, job_id: uuid.UUID) -> None:
    """Work on a job if it is due and nobody else does. Never raises: what failed stands in the job.

    Where Postgres is away, that can't be said: the job is claimed again when its lease is over.
    """
    try:
        lease = claim(workspace_id, job_id)
        if lease is not None:
            _run(lease)
            # A worker that stops may catch hints that are sent now: the next sweep's go to others.
            if not worker_stop.is_asked():
                hints.hint_due_jobs()
    except Error:
        logger.exception("job %s is left to the next claim", job_id)


def _run(lease: Lease) -> None:
    known = about(request_id=lease.request_id, job_id=str(lease.job_id), attempt=lease.attempt)
    job = tracing.span("job", cause=lease.traceparent, kind=lease.kind, attempt=lease.attempt)
    with known, job:
        logger.info("%s begins, attempt %d", lease.kind, lease.attempt)
        _run_known(lease)


def _run_known(lease: Lease) -> None:
    try:
        _work(lease)
    except LeaseLost as error:
        PUT_OFF.add(lease.kind, "lease_lost")
        logger.warning("%s", error)
    except JobCancelled:
        _end(lease, JobState.CANCELLED)
    except JobFailed as error:
        _end(lease, JobState.FAILED, error=str(error))
    except EmbedderUnavailable as error:
        _await_embedder(lease, error)
    except Exception as error:
        if (reason := full_disk(error)) is not None:
            PUT_OFF.add(lease.kind, "disk")
            await_room(lease, reason)
        else:
            PUT_OFF.add(lease.kind, "broke_off")
            logger.exception("job %s broke off", lease.job_id)
            _try_later(lease, error=f"It broke off: {type(error).__name__}; the worker's log says where.")


def _work(lease: Lease) -> None:
    job = lease.held().get()
    workspace = Workspace.objects.get(pk=lease.workspace_id)
    if job.cancel_requested:
        _end(lease, JobState.CANCELLED)
        return
    if job.stalled_attempts > MAX_STALLED_ATTEMPTS:
        raise JobFailed(f"Given up after {job.stalled_attempts - 1} attempts without progress. {job.error}")
    if job.kind != JobKind.EMBED:
        hints.ask_for_sync(workspace.pk)
    with LeaseKeeper(lease) as keeper:
        ending = _worked(Work(job=job, workspace=workspace, lease=lease, keeper=keeper))
    if ending is Ending.YIELDED:
        PUT_OFF.add(lease.kind, "yielded")
        _put_back(lease, job)
    else:
        refresh_statistics()
        _end(lease, JobState.CANCELLED if ending is Ending.CANCELLED else JobState.SUCCEEDED)


def _worked(work: Work) -> Ending:
    try:
        return _WORK[work.job.kind](work)
    except TurnOver:
        return Ending.YIELDED


def _put_back(lease: Lease, job: Job) -> None:
    """Leave the job to the next claim, after those that wait; but that this worker stops doesn't delay it."""
    if not worker_stop.is_asked():
        lease.write(lease_until=Now(), due_at=Now())
        return
    logger.info("%s is put back: its worker stops", lease.kind)
    # As if there had been no hint: if this worker catches the one below, the next sweep sends another.
    lease.write(lease_until=Now(), hinted_at=None, stalled_attempts=Greatest(F("stalled_attempts") - 1, 0))
    hints.hint_on_commit(job)


def _end(lease: Lease, state: JobState, error: str = "") -> None:
    """Bring the job to its one end, in one fenced transaction with what follows from it."""
    with transaction.atomic():
        _lock_source(lease)
        job = lease.held().select_for_update().first()
        if job is None:
            logger.warning("job %s ended under another attempt", lease.job_id)
            return
        if job.rerun_requested and state == JobState.SUCCEEDED:  # asked for since the work looked last
            lease.write(lease_until=Now(), due_at=Now())
            return
        if job.kind in READS_DOCUMENTS and job.payload.get("embed", True):
            request_embedding(job.workspace_id)
        if job.kind == JobKind.SYNC_SOURCE:
            sync_source.note_end(job, state)
        note_run_end(job, state, error)
        if job.is_whole_sync:
            schedule.note_run(job, state)
        head_seq = Workspace.objects.values_list("head_seq", flat=True).get(pk=job.workspace_id)
        lease.write(
            state=state,
            finished_at=Now(),
            lease_until=None,
            counts=final_counts(job),
            seq=head_seq,
            error=error,
        )
        transaction.on_commit(partial(_count_end, job, state))
        if job.kind in UPLOAD_KINDS:
            if job.source_id is not None:
                note_ended_uploads(job.workspace_id, job.source_id, is_indexed=state == JobState.SUCCEEDED)
            # Bytes that can't be deleted are no reason not to say that the job has ended.
            once_committed(release_ended, lease.workspace_id, lease.job_id)
        if job.kind != JobKind.EMBED:
            transaction.on_commit(partial(hints.ask_for_sync, job.workspace_id))


def _count_end(job: Job, state: str) -> None:
    logger.info("%s ends as %s", job.kind, state)
    ENDED.add(job.kind, state)
    if job.started_at is not None:
        # By another clock than it was started by.
        JOB_SECONDS.observe(max(0.0, (timezone.now() - job.started_at).total_seconds()), job.kind)


def _lock_source(lease: Lease) -> None:
    """Lock what the job's end is written into as well, before the job, as whoever asks for a sync does."""
    job = lease.held().filter(kind__in=READS_DOCUMENTS)
    source = Source.objects.in_workspace(lease.workspace_id).filter(pk__in=job.values("source_id"))
    source.select_for_update(no_key=True).first()


def _await_embedder(lease: Lease, error: EmbedderUnavailable) -> None:
    """Leave the job until its embedder may answer again, however long that takes; a lasting fault ends it."""
    if error.is_lasting:
        _end(lease, JobState.FAILED, error=str(error))
        return
    PUT_OFF.add(lease.kind, "embedder")
    logger.warning("job %s waits for its embedder: %s", lease.job_id, error)
    _try_later(lease, at_least_s=error.retry_after_s or 0.0, error=str(error))
    # The embedder's silence is no fault of the job, which is not given up for it.
    lease.held().filter(stalled_attempts__gte=MAX_STALLED_ATTEMPTS).update(
        stalled_attempts=MAX_STALLED_ATTEMPTS - 1
    )


def _try_later(lease: Lease, *, at_least_s: float = 0.0, **noted: str) -> None:
    """Leave the job to a later claim: after 5·2^n seconds, ten minutes at most, give or take a tenth."""
    stalled = lease.held().values_list("stalled_attempts", flat=True).first() or 0
    delay_s = min(600, 5 * 2**stalled) * random.uniform(0.9, 1.1)  # noqa: S311  # jitter, not a secret
    due_at = Now() + timedelta(seconds=max(delay_s, min(at_least_s, _LONGEST_WAIT_S)))
    lease.held().update(lease_until=Now(), due_at=due_at, **noted)
