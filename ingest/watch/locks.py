"""Which node watches which source: session locks in Postgres, which go with the connection."""

import uuid
from collections.abc import Iterable
from types import TracebackType
from typing import Final, Self

import psycopg
from django.db import connection

# With the source's hash it makes the lock's name; any number that no other lock of Kebab's begins with.
_CLASS: Final = 0x6B77


class SourceLocks:
    """The sources that this process watches and no other may, for as long as its connection stands."""

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
        """Let go of other sources, take what is free of the wanted ones, and give those that are held.

        Raises psycopg.Error when the connection, and every lock with it, is gone.
        """
        wanted = set(wanted)
        for source_id in self._held - wanted:
            self._connection.execute("SELECT pg_advisory_unlock(%s, %s)", (_CLASS, _key(source_id)))
        taken = {source_id for source_id in wanted - self._held if self._is_taken(source_id)}
        self._held = (self._held & wanted) | taken
        self._connection.execute("SELECT 1")  # to notice a connection that is gone
        return set(self._held)

    def _is_taken(self, source_id: uuid.UUID) -> bool:
        row = self._connection.execute("SELECT pg_try_advisory_lock(%s, %s)", (_CLASS, _key(source_id)))
        found = row.fetchone()
        return found is not None and bool(found[0])


def _key(source_id: uuid.UUID) -> int:
    """Return 31 bits of the id; two sources that share them are watched by the same node."""
    return source_id.int & 0x7FFFFFFF
