"""A lock against the deletion of blobs while they are copied; deletions are postponed."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection
from psycopg import Connection

from kebab.backup.manifest import BackupFailed

# Any number that nothing else locks; the letters of "kept".
_LOCK = 0x6B657074
_ONE_BACKUP = _LOCK + 1


@contextmanager
def hold_deletions(owner: Connection[Any]) -> Iterator[None]:
    """Prevent deletions of blobs on all nodes during the block. Raises BackupFailed during another backup."""
    row = owner.execute("SELECT pg_try_advisory_lock(%s)", [_ONE_BACKUP]).fetchone()
    if not row or not row[0]:
        raise BackupFailed("Another backup is being made; wait for it.")
    owner.execute("SELECT pg_advisory_lock(%s)", [_LOCK])  # waits for running deletions
    try:
        yield
    finally:
        owner.execute("SELECT pg_advisory_unlock_all()")


@contextmanager
def hold_workspace_deletions(workspace_id: uuid.UUID) -> Iterator[None]:
    """Prevent deletions of a workspace's blobs on all nodes during the block; call it outside transactions.

    It waits for running deletions, and for other holders of this lock.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [_lock_of(workspace_id)])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [_lock_of(workspace_id)])


def may_delete(workspace_id: uuid.UUID) -> bool:
    """Return whether a workspace's blobs may be deleted; if so, that holds until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_try_advisory_xact_lock_shared(%s) AND pg_try_advisory_xact_lock_shared(%s)",
            [_LOCK, _lock_of(workspace_id)],
        )
        return bool(cursor.fetchone()[0])


def _lock_of(workspace_id: uuid.UUID) -> int:
    return (workspace_id.int >> 64) - 2**63
