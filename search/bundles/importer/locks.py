"""Which imports are under way: each holds a lock that is named by the id which its workspace is to have."""

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
    """Be the only import of this workspace until the transaction's end; False when another one is."""
    return _asked(_TRY_LOCK, workspace_id)


def is_under_way(workspace_id: uuid.UUID) -> bool:
    """Return whether an import is making this workspace."""
    return _asked(_IS_HELD, workspace_id)


def lock_key(workspace_id: uuid.UUID) -> int:
    """Return the number that the lock has: 63 bits."""
    return workspace_id.int % 2**63


def _asked(statement: str, workspace_id: uuid.UUID) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, [lock_key(workspace_id)])
        return bool(cursor.fetchone()[0])
