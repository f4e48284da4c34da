"""Session locks in Postgres that assign each watched source to one node; they end with the connection."""

import uuid
from collections.abc import Iterable
from types import TracebackType
from typing import Final, Self

import psycopg
from django.db import connection

# First half of the lock's key; the source's hash is the second. No other lock of Kebab has this number.
_CLASS: Final = 0x6B77


class SourceLocks:
    """Locks of the sources that this process watches; no other may while this connection is open."""

    def __init__(self) -> None:
        parameters = connection.get_connection_params()
        parameters = {k: v for k, v in parameters.items() if k not in {"cursor_factory", "context", "pool"}}
        self._connection = psycopg.connect(**parameters, autocommit=True)
        self._held: set[uuid.UUID] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def hold_only(self, wanted: Iterable[uuid.UUID]) -> set[uuid.UUID]:
        """Unlock other sources, lock the free ones of `wanted`, and return those that are locked.

        Raises psycopg.Error when the connection, and every lock with it, is gone.
        """
        wanted = set(wanted)
        for source_id in self._held - wanted:
            self._connection.execute("SELECT pg_advisory_unlock(%s, %s)", (_CLASS, _lock_key(source_id)))
        taken = {source_id for source_id in wanted - self._held if self._try_lock(source_id)}
        self._held = (self._held & wanted) | taken
        self._connection.execute("SELECT 1")  # to notice a connection that is gone
        return set(self._held)

    def _try_lock(self, source_id: uuid.UUID) -> bool:
        row = self._connection.execute("SELECT pg_try_advisory_lock(%s, %s)", (_CLASS, _lock_key(source_id)))
        found = row.fetchone()
        return found is not None and bool(found[0])


def _lock_key(source_id: uuid.UUID) -> int:
    """Return 31 bits of the id; sources that share them are watched by the same node."""
    return source_id.int & 0x7FFFFFFF
