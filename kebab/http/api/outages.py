"""Mapping of failures of servers and disks, which no request causes, to `ServiceUnavailable`."""

import errno
from typing import Final

import psycopg
from django.db import DatabaseError, InterfaceError, InternalError, OperationalError
from redis.exceptions import RedisError

from kebab.errors import ServiceUnavailable
from kebab.stack.storage.blob_storage import BlobsUnavailable
from kebab.tenancy.postgres.base import NotReplicated, database_breaker

#: The exceptions that an `except` clause catches before it calls `outage_of`.
OUTAGES = (DatabaseError, InterfaceError, psycopg.OperationalError, RedisError, OSError)

#: The state of a database that refuses writes, and its remedy.
READ_ONLY: Final = (
    "The database is read-only: searches work, nothing can be written. DATABASE_URL has to lead to the"
    " primary server, without default_transaction_read_only."
)
_STORAGE_ERRNOS = {errno.ENOSPC, errno.EROFS, errno.EDQUOT}
# The process or the machine has no file descriptors or no memory left.
_BUSY_ERRNOS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
_DATABASE_ERRORS = (
    *(OperationalError, InterfaceError, InternalError, NotReplicated),
    psycopg.OperationalError,
)
_BUSY = (
    psycopg.errors.LockNotAvailable,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.TooManyConnections,
    # The process was held up for too long between two statements.
    psycopg.errors.IdleInTransactionSessionTimeout,
)


def outage_of(error: BaseException) -> ServiceUnavailable | None:
    """Return the outage that `error` indicates; None when it is something else."""
    if isinstance(error, _DATABASE_ERRORS):
        return _database_outage(error)
    if isinstance(error, RedisError):
        return ServiceUnavailable("Redis can't be reached; try again.", code="redis_unavailable")
    if isinstance(error, BlobsUnavailable):
        return ServiceUnavailable(
            "The documents' bytes can't be reached; try again.", code="storage_unavailable", retry_after_s=5
        )
    if isinstance(error, OSError) and error.errno in _STORAGE_ERRNOS:
        return ServiceUnavailable(
            "The server can't store anything at the moment.", code="storage_full", retry_after_s=60
        )
    if isinstance(error, OSError) and error.errno in _BUSY_ERRNOS:
        return ServiceUnavailable("The server is busy; try again.", code="busy", retry_after_s=5)
    return None


def _database_outage(error: BaseException) -> ServiceUnavailable | None:
    cause = error if isinstance(error, psycopg.Error) else error.__cause__
    if isinstance(error, NotReplicated):
        return ServiceUnavailable(str(error), code="not_replicated", retry_after_s=10)
    if isinstance(cause, psycopg.errors.QueryCanceled):
        return ServiceUnavailable("The database took too long; ask for less.", code="timed_out")
    if isinstance(cause, _BUSY):
        return ServiceUnavailable("The database is busy; try again.", code="busy", retry_after_s=1)
    if isinstance(cause, psycopg.errors.ReadOnlySqlTransaction) and not database_breaker().is_open:
        return ServiceUnavailable(READ_ONLY, code="database_read_only", retry_after_s=10)
    if isinstance(cause, psycopg.errors.DiskFull):
        return ServiceUnavailable(
            "The database can't store anything at the moment.", code="storage_full", retry_after_s=60
        )
    if isinstance(error, InternalError) and not isinstance(cause, psycopg.errors.ReadOnlySqlTransaction):
        return None
    return ServiceUnavailable("The database can't be reached; try again.", code="database_unavailable")
