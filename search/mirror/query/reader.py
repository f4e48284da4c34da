"""Read access to a mirror for one query: with a time limit, and without trusting the file."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import apsw

from search.access.scope import SearchScope
from search.mirror.connections import ReaderPool, empty_mirror
from search.mirror.errors import MirrorAbsent, MirrorDamaged
from search.mirror.postings import Collection
from search.mirror.query.filters import bind_path_filters
from search.mirror.sync.sync import applied_seq

logger = logging.getLogger(__name__)

# Steps of SQLite's virtual machine between checks of the clock: a limit of 50 ms is overrun by about 6 ms.
_STEPS = 2_000


class Generations(Protocol):
    """A store of mirror generations: the path of the current one, and the withdrawal of a damaged one."""

    def current(self) -> Path:
        """Return the file to read. Raises MirrorAbsent."""
        ...

    def withdraw(self, generation: Path) -> None:
        """Stop readers from using a damaged file."""
        ...


class MirrorReading:
    """Read access to one workspace's mirror: connections in a read transaction with a time limit."""

    def __init__(self, files: Generations, pool: ReaderPool, scope: SearchScope, *, limit_s: float) -> None:
        self.scope = scope
        self._files = files
        self._pool = pool
        self._limit_s = limit_s
        self._deadline = 0.0
        self._seq: int | None = None
        self._collection: Collection | None = None

    @contextmanager
    def connection(self) -> Iterator[apsw.Connection]:
        """Provide a connection; past the limit SQLite raises InterruptError.

        A workspace without any change has no mirror and gets an empty one. Raises MirrorError.
        """
        self._deadline = time.monotonic() + self._limit_s
        self._seq = self._collection = None
        path = self._current()
        try:
            with empty_mirror() if path is None else self._pool.reader(path) as connection:
                connection.set_progress_handler(self.is_late, _STEPS)
                bind_path_filters(connection, self.scope.filters)
                connection.execute("BEGIN")
                try:
                    yield connection
                finally:
                    connection.set_progress_handler(None)
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
        except MirrorDamaged as damage:
            logger.error("mirror of %s is withdrawn: %s", self.scope.workspace_id, damage)
            if path is not None:
                self._files.withdraw(path)
            raise

    def _current(self) -> Path | None:
        try:
            return self._files.current()
        except MirrorAbsent:
            if self.scope.head_seq:
                raise
            return None

    def seq(self, connection: apsw.Connection) -> int:
        """Return the last change that a connection from here shows."""
        if self._seq is None:
            self._seq = applied_seq(connection)
        return self._seq

    def collection(self, connection: apsw.Connection) -> Collection:
        """Return the chunks that the query is ranked among: all that its reader may read, before filters.

        The connection is one from here. Raises MirrorDamaged.
        """
        if self._collection is None:
            readable = self.scope.readable
            keys = None if readable is None else readable.keys
            self._collection = self._pool.collections.get(connection, self.seq(connection), keys)
        return self._collection

    def narrowed_collection(self, connection: apsw.Connection) -> Collection | None:
        """Return the collection if it is a part of the mirror, None for all: SQLite counts that itself."""
        return None if self.scope.readable is None else self.collection(connection)

    def is_late(self) -> bool:
        """Return whether the time is up."""
        return time.monotonic() > self._deadline
