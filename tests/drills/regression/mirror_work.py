"""Counts of SQLite's work in mirrors: statements, steps of its virtual machine, rows scanned, pages."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw

# FTS5's own statements have counters that never reset; page counts include their reads.
_OF_FTS5 = "'main'."
_STEPS = "SQLITE_STMTSTATUS_VM_STEP"
_SCANNED = "SQLITE_STMTSTATUS_FULLSCAN_STEP"


class MirrorWork:
    """Counts over all watched connections."""

    def __init__(self) -> None:
        self._connections: list[apsw.Connection] = []
        self._figures = dict.fromkeys(("mirror statements", "mirror steps", "mirror rows scanned"), 0)
        self._pages = 0

    def begin(self) -> None:
        """Reset the counts."""
        self._figures = dict.fromkeys(self._figures, 0)
        self._pages = self._pages_so_far()

    def figures(self) -> dict[str, int]:
        """Return the counts since `begin`, by name."""
        return {**self._figures, "mirror pages": self._pages_so_far() - self._pages}

    def watch(self, connection: apsw.Connection) -> None:
        """Count the work of this connection from now on."""
        self._connections.append(connection)
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, self._record, id=self)

    def _record(self, event: dict[str, Any]) -> None:
        if _OF_FTS5 in event["sql"] or event["sql"] in ("BEGIN", "ROLLBACK", "COMMIT"):
            return
        status = event["stmt_status"]
        self._figures["mirror statements"] += 1
        self._figures["mirror steps"] += status[_STEPS]
        self._figures["mirror rows scanned"] += status[_SCANNED]

    def _pages_so_far(self) -> int:
        """Return the number of requested pages, cached or not."""
        return sum(map(_pages, self._connections))


def _pages(connection: apsw.Connection) -> int:
    try:
        return sum(
            connection.status(counter)[0]
            for counter in (apsw.SQLITE_DBSTATUS_CACHE_HIT, apsw.SQLITE_DBSTATUS_CACHE_MISS)
        )
    except apsw.ConnectionClosedError:
        return 0


@contextmanager
def watched_mirrors() -> Iterator[MirrorWork]:
    """Count the work of connections that are opened in the block."""
    work = MirrorWork()
    apsw.connection_hooks.append(work.watch)
    try:
        yield work
    finally:
        apsw.connection_hooks.remove(work.watch)
