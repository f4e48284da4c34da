"""Locks of running imports: each holds an advisory lock on the id of its future workspace."""

import uuid

from django.db import connection

_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(%s)"
_IS_HELD = """
SELECT EXISTS (
    SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (classid::bigint << 32) | objid::bigint = %s
)
"""


def try_lock(workspace_id: uuid.UUID) -> bool:
    """Lock this workspace's import until the transaction's end; False when another one holds the lock."""
    return _query_lock(_TRY_LOCK, workspace_id)


def is_under_way(workspace_id: uuid.UUID) -> bool:
    """Return whether an import of this workspace is running."""
    return _query_lock(_IS_HELD, workspace_id)


def lock_key(workspace_id: uuid.UUID) -> int:
    """Return the key of the advisory lock: 63 bits."""
    return workspace_id.int % 2**63


def _query_lock(statement: str, workspace_id: uuid.UUID) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, [lock_key(workspace_id)])
        return bool(cursor.fetchone()[0])
