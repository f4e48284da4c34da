"""Bytes stay where they are while a backup copies them: whoever would delete some leaves them for later."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection
from psycopg import Connection

from kebab.keeping.errors import BackupFailed

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


def may_delete() -> bool:
    """Whether bytes may be deleted until this transaction's end."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock_shared(%s)", [_LOCK])
        return bool(cursor.fetchone()[0])
