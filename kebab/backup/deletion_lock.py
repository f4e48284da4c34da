"""Bytes stay where they are while they are copied: whoever would delete some leaves them for later."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection
from psycopg import Connection

from kebab.backup.errors import BackupFailed

# Any numbers that nothing else locks; the letters of "kept".
_LOCK = 0x6B657074
_ONE_BACKUP = _LOCK + 1


@contextmanager
def deletions_held(owner: Connection[Any]) -> Iterator[None]:
    """Have all nodes delete no bytes for the length of a block. Raises BackupFailed while another does."""
    row = owner.execute("SELECT pg_try_advisory_lock(%s)", [_ONE_BACKUP]).fetchone()
    if not row or not row[0]:
        raise BackupFailed("Another backup is being made; wait for it.")
    owner.execute("SELECT pg_advisory_lock(%s)", [_LOCK])  # waits for deletions that are under way
    try:
        yield
    finally:
        owner.execute("SELECT pg_advisory_unlock_all()")


@contextmanager
def deletions_in_workspace_held(workspace_id: uuid.UUID) -> Iterator[None]:
    """Have all nodes delete none of a workspace's bytes for the length of a block outside transactions.

    It waits for deletions that are under way, and for whoever else holds them.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [_lock_of(workspace_id)])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [_lock_of(workspace_id)])


def may_delete(workspace_id: uuid.UUID) -> bool:
    """Return whether a workspace's bytes may be deleted until this transaction's end."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_try_advisory_xact_lock_shared(%s) AND pg_try_advisory_xact_lock_shared(%s)",
            [_LOCK, _lock_of(workspace_id)],
        )
        return bool(cursor.fetchone()[0])


def _lock_of(workspace_id: uuid.UUID) -> int:
    return (workspace_id.int >> 64) - 2**63
