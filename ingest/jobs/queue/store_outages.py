"""A disk that is full or locked, a bucket that is away, is nobody's fault: knowing and waiting it out.

Nor are tables that are locked for longer than a statement waits, as while they are cut into parts.
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

#: What a disk, a quota or a limit on the size of files says that has no room left.
_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
#: What a disk says that was mounted read-only, or whose permissions were lost.
_LOCKED_ERRNOS = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
# Soon enough for who has just made room, seldom enough for a disk that stays full.
_LOOK_AGAIN = timedelta(seconds=15)


def full_disk(error: BaseException) -> str | None:
    """Return in words which disk can't be written when `error` says that, or what it came of; else None.

    A source's own file that may not be read is no such thing.
    """
    cause = error if isinstance(error, OSError | psycopg.Error) else error.__cause__
    if isinstance(cause, psycopg.errors.DiskFull):
        return f"Disk full: Postgres has no room ({cause.diag.message_primary or cause})."
    if isinstance(cause, psycopg.errors.LockNotAvailable):
        return "Tables locked: Postgres lets nobody write to them now."
    if not isinstance(cause, OSError):
        return None
    if isinstance(cause, BlobsUnavailable):
        return f"Storage away: {cause.strerror}."
    place = f" {cause.filename}" if cause.filename else ""
    said = f"files of documents can't be written ({cause.strerror}{place})."
    if cause.errno in _ERRNOS:
        return f"Disk full: {said}"
    if cause.errno in _LOCKED_ERRNOS and _is_blob(cause.filename):
        return f"Disk locked: {said}"
    return None


def _is_blob(filename: object) -> bool:
    """Return whether it is, or would be, among the documents' bytes that are kept."""
    try:
        kept = default_storage.path("")
    except NotImplementedError:  # an object store
        return False
    return isinstance(filename, str | bytes) and Path(os.fsdecode(filename)).is_relative_to(kept)


def await_room(lease: Lease, reason: str) -> None:
    """Leave the job until the disk may be written again, however long that takes, and say why it waits.

    What it had begun is not to blame: neither the job nor its items are given up for it.
    """
    logger.warning("job %s waits: %s", lease.job_id, reason)
    items = JobItem.objects.in_workspace(lease.workspace_id).filter(job=lease.job_id)
    try:
        with transaction.atomic():
            lease.write(
                lease_until=Now(),
                due_at=Now() + _LOOK_AGAIN,
                error=f"{reason} The job goes on by itself as soon as it can.",
                stalled_attempts=Least(F("stalled_attempts"), 1),
            )
            items.filter(state=ItemState.PENDING, attempts__gt=0).update(attempts=F("attempts") - 1)
    except (Error, LeaseLost) as error:
        # Where Postgres itself is full the lease runs out by itself, and another worker claims the job.
        logger.warning("job %s can't be put off: %s", lease.job_id, error)
