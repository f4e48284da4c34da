"""Outages of storage: a full or locked disk, an unreachable bucket, locked tables. Jobs wait until they end.

Tables are locked for longer than a statement waits while they are partitioned, for instance.
"""

import errno
import logging
import os
from datetime import timedelta
from pathlib import Path

import psycopg
from django.core.files.storage import default_storage
from django.db import Error, transaction
from django.db.models import F
from django.db.models.functions import Least, Now

from ingest.errors import LeaseLost
from ingest.jobs.queue.lease import Lease
from ingest.models import ItemState, JobItem
from kebab.stack.storage.blob_storage import BlobsUnavailable

logger = logging.getLogger(__name__)

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
