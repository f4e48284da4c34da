"""The run of a job: claim it, execute it, and record exactly one end, or leave it for another attempt.

Outages of storage (a full or locked disk, an unreachable bucket, locked tables) make jobs wait until they
end.
"""

import errno
import logging
import os
import random
import uuid
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path

import psycopg
from django.core.files.storage import default_storage
from django.db import Error, transaction
from django.db.models import F
from django.db.models.functions import Greatest, Least, Now
from django.utils import timezone

from ingest.errors import JobCancelled, JobFailed, JobYielded, LeaseLost
from ingest.jobs.kinds import archive, delete_source, embed, evaluate, gate, rechunk, sync_source, upload
from ingest.jobs.queue import hints, schedule
from ingest.jobs.queue.context import Ending, JobContext
from ingest.jobs.queue.failure_mail import record_attention
from ingest.jobs.queue.job_events import publish_job_ends
from ingest.jobs.queue.lease import MAX_STALLED_ATTEMPTS, Lease, LeaseKeeper, claim
from ingest.jobs.queue.report import final_counts
from ingest.jobs.queue.request import record_run_end, request_embedding, update_upload_source
from ingest.jobs.queue.retention import release_upload
from ingest.metrics import ENDED, JOB_SECONDS, PUT_OFF
from ingest.models import READS_DOCUMENTS, UPLOAD_KINDS, ItemState, Job, JobItem, JobKind, JobState
from kebab.database.transactions import run_on_commit
from kebab.identity.models import Workspace
from kebab.observability import tracing
from kebab.observability.log_formats import bind_log_fields
from kebab.stack.storage.blob_storage import BlobsUnavailable
from kebab.stack.supervisor import worker_stop
from search.corpus.table_statistics import refresh_statistics
from search.models import Source
from search.retrieval.errors import EmbedderUnavailable

#: Errors of a full disk, an exhausted quota or a limit on the size of files.
_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
#: Errors of a disk that was mounted read-only, or whose permissions were lost.
_LOCKED_ERRNOS = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
# Short enough for an operator who has just freed space, long enough for a disk that stays full.
_RETRY_AFTER = timedelta(seconds=15)


def outage_message(error: BaseException) -> str | None:
    """Return the message for an outage of storage if `error`, or its cause, is one; else None.

    A file of a source that may not be read is none.
    """
    cause = error if isinstance(error, OSError | psycopg.Error) else error.__cause__
    if isinstance(cause, psycopg.errors.DiskFull):
        return f"Disk full: Postgres can't write ({cause.diag.message_primary or cause})."
    if isinstance(cause, psycopg.errors.LockNotAvailable):
        return "Tables locked: Postgres lets nobody write to them now."
    if not isinstance(cause, OSError):
        return None
    if isinstance(cause, BlobsUnavailable):
        return f"Storage away: {cause.strerror}."
    place = f" {cause.filename}" if cause.filename else ""
    message = f"files of documents can't be written ({cause.strerror}{place})."
    if cause.errno in _ERRNOS:
        return f"Disk full: {message}"
    if cause.errno in _LOCKED_ERRNOS and _is_blob(cause.filename):
        return f"Disk locked: {message}"
    return None


def _is_blob(filename: object) -> bool:
    """Return whether the file is, or would be, in the folder of blobs."""
    try:
        blob_folder = default_storage.path("")
    except NotImplementedError:  # an object store
        return False
    return isinstance(filename, str | bytes) and Path(os.fsdecode(filename)).is_relative_to(blob_folder)


def postpone_for_storage(lease: Lease, reason: str) -> None:
    """Postpone the job until storage can be written again, without a limit, and record why it waits.

    The outage counts against neither the job nor the items that were started: none is given up for it.
    """
    logger.warning("job %s waits: %s", lease.job_id, reason)
    items = JobItem.objects.in_workspace(lease.workspace_id).filter(job=lease.job_id)
    try:
        with transaction.atomic():
            lease.write(
                lease_until=Now(),
                due_at=Now() + _RETRY_AFTER,
                error=f"{reason} The job goes on by itself as soon as it can.",
                stalled_attempts=Least(F("stalled_attempts"), 1),
            )
            items.filter(state=ItemState.PENDING, attempts__gt=0).update(attempts=F("attempts") - 1)
    except (Error, LeaseLost) as error:
        # If Postgres itself is full, the lease runs out and another worker claims the job.
        logger.warning("job %s can't be put off: %s", lease.job_id, error)


logger = logging.getLogger(__name__)

_RUNNERS: Mapping[str, Callable[[JobContext], Ending]] = {
    JobKind.SYNC_SOURCE: sync_source.run,
    JobKind.INGEST_DOCUMENT: upload.run,
    JobKind.INGEST_DOCUMENTS: archive.run,
    JobKind.INGEST_ARCHIVE: archive.run,
    JobKind.DELETE_SOURCE: delete_source.run,
    JobKind.DELETE_VERSION: delete_source.run_version,
    JobKind.EMBED: embed.run,
    JobKind.EVALUATE: evaluate.run,
    JobKind.RECHUNK: rechunk.run,
    JobKind.GATE: gate.run,
}
# Upper bound for the pause that an embedder asks for.
_LONGEST_WAIT_S = 3_600.0


def run_job(workspace_id: uuid.UUID, job_id: uuid.UUID) -> None:
    """Run a job if it is due and no other worker has it. Never raises: failures are recorded in the job.

    Without Postgres they can't be: the job is claimed again when its lease has run out.
    """
    try:
        lease = claim(workspace_id, job_id)
        if lease is not None:
            log_context = bind_log_fields(
                request_id=lease.request_id, job_id=str(lease.job_id), attempt=lease.attempt
            )
            job = tracing.span("job", cause=lease.traceparent, kind=lease.kind, attempt=lease.attempt)
            with log_context, job:
                logger.info("%s begins, attempt %d", lease.kind, lease.attempt)
                _run_and_record_failure(lease)
            # A worker that stops could receive hints sent now; those of the next sweep go to other workers.
            if not worker_stop.is_requested():
                hints.hint_due_jobs()
    except Error:
        logger.exception("job %s is left to the next claim", job_id)


def _run_and_record_failure(lease: Lease) -> None:
    try:
        _execute_job(lease)
    except LeaseLost as error:
        PUT_OFF.add(lease.kind, "lease_lost")
        logger.warning("%s", error)
    except JobCancelled:
        _end_job(lease, JobState.CANCELLED)
    except JobFailed as error:
        _end_job(lease, JobState.FAILED, error=str(error))
    except EmbedderUnavailable as error:
        _postpone_for_embedder(lease, error)
    except Exception as error:
        if (reason := outage_message(error)) is not None:
            PUT_OFF.add(lease.kind, "disk")
            postpone_for_storage(lease, reason)
        else:
            PUT_OFF.add(lease.kind, "broke_off")
            logger.exception("job %s broke off", lease.job_id)
            _postpone(lease, error=f"It broke off: {type(error).__name__}; the worker's log says where.")


def _execute_job(lease: Lease) -> None:
    job = lease.fenced_rows().get()
    workspace = Workspace.objects.get(pk=lease.workspace_id)
    if job.cancel_requested:
        _end_job(lease, JobState.CANCELLED)
        return
    if job.stalled_attempts > MAX_STALLED_ATTEMPTS:
        raise JobFailed(f"Given up after {job.stalled_attempts - 1} attempts without progress. {job.error}")
    if job.kind != JobKind.EMBED:
        hints.request_mirror_sync(workspace.pk)
    with LeaseKeeper(lease) as keeper:
        ending = _call_runner(JobContext(job=job, workspace=workspace, lease=lease, keeper=keeper))
    if ending is Ending.YIELDED:
        PUT_OFF.add(lease.kind, "yielded")
        _requeue(lease, job)
    elif ending is Ending.CANCELLED:
        _end_job(lease, JobState.CANCELLED)
    else:
        refresh_statistics()
        _end_job(lease, JobState.SUCCEEDED)


def _call_runner(context: JobContext) -> Ending:
    try:
        with context.keeper.interruption.covers():
            return _RUNNERS[context.job.kind](context)
    except JobYielded:
        return Ending.YIELDED
    except (Error, psycopg.Error):
        if context.keeper.is_cancelled:  # which interrupted a statement
            return Ending.CANCELLED
        raise


def _requeue(lease: Lease, job: Job) -> None:
    """Return the job to the queue behind the waiting ones, or at its old place if this worker stops."""
    if not worker_stop.is_requested():
        lease.write(lease_until=Now(), due_at=Now())
        return
    logger.info("%s is put back: its worker stops", lease.kind)
    # Cleared, so that the next sweep sends another hint if this worker receives the one below.
    lease.write(lease_until=Now(), hinted_at=None, stalled_attempts=Greatest(F("stalled_attempts") - 1, 0))
    hints.hint_on_commit(job)


def _end_job(lease: Lease, state: JobState, error: str = "") -> None:
    """End the job once, in one fenced transaction with all that follows from its end."""
    with transaction.atomic():
        _lock_source(lease)
        job = lease.fenced_rows().select_for_update().first()
        if job is None:
            logger.warning("job %s ended under another attempt", lease.job_id)
            return
        if job.rerun_requested and state == JobState.SUCCEEDED:  # requested since the last check
            lease.write(lease_until=Now(), due_at=Now())
            return
        if job.kind in READS_DOCUMENTS and job.payload.get("embed", True):
            request_embedding(job.workspace_id, batch=job.batch or job.pk)
        if job.kind == JobKind.SYNC_SOURCE:
            sync_source.record_sync_end(job, state)
        record_run_end(job, state, error)
        if job.is_whole_sync:
            schedule.schedule_next_sync(job, state)
        head_seq = Workspace.objects.values_list("head_seq", flat=True).get(pk=job.workspace_id)
        counts = final_counts(job)
        lease.write(
            state=state,
            finished_at=Now(),
            lease_until=None,
            counts=counts,
            seq=head_seq,
            error=error,
            **record_attention(job, state, counts),
        )
        publish_job_ends([job], state, error, counts)
        transaction.on_commit(partial(_count_end, job, state))
        if job.kind in UPLOAD_KINDS:
            if job.source_id is not None:
                update_upload_source(job.workspace_id, job.source_id, is_indexed=state == JobState.SUCCEEDED)
            # The job has ended even if its blobs can't be deleted.
            run_on_commit(release_upload, lease.workspace_id, lease.job_id)
        if job.kind != JobKind.EMBED:
            transaction.on_commit(partial(hints.request_mirror_sync, job.workspace_id))


def _count_end(job: Job, state: str) -> None:
    logger.info("%s ends as %s", job.kind, state)
    ENDED.add(job.kind, state)
    if job.started_at is not None:
        # The job was started by Postgres' clock, not by this one: the difference could be negative.
        JOB_SECONDS.observe(max(0.0, (timezone.now() - job.started_at).total_seconds()), job.kind)


def _lock_source(lease: Lease) -> None:
    """Lock the source, which the job's end is written to as well; before the job, as requests do."""
    job = lease.fenced_rows().filter(kind__in=READS_DOCUMENTS)
    source = Source.objects.in_workspace(lease.workspace_id).filter(pk__in=job.values("source_id"))
    source.select_for_update(no_key=True).first()


def _postpone_for_embedder(lease: Lease, error: EmbedderUnavailable) -> None:
    """Postpone the job until its embedder may answer again, without a limit; a lasting fault ends the job."""
    if error.is_lasting:
        _end_job(lease, JobState.FAILED, error=str(error))
        return
    PUT_OFF.add(lease.kind, "embedder")
    logger.warning("job %s waits for its embedder: %s", lease.job_id, error)
    _postpone(lease, at_least_s=error.retry_after_s or 0.0, error=str(error))
    # A job is not given up because its embedder does not answer.
    lease.fenced_rows().filter(stalled_attempts__gte=MAX_STALLED_ATTEMPTS).update(
        stalled_attempts=MAX_STALLED_ATTEMPTS - 1
    )


def _postpone(lease: Lease, *, at_least_s: float = 0.0, **fields: str) -> None:
    """Postpone the job by backoff: 5·2^n seconds, ten minutes at most, with a jitter of a tenth."""
    stalled = lease.fenced_rows().values_list("stalled_attempts", flat=True).first() or 0
    delay_s = min(600, 5 * 2**stalled) * random.uniform(0.9, 1.1)  # noqa: S311  # jitter, not a secret
    due_at = Now() + timedelta(seconds=max(delay_s, min(at_least_s, _LONGEST_WAIT_S)))
    lease.fenced_rows().update(lease_until=Now(), due_at=due_at, **fields)
