"""Progress of a listing: written to its job as it goes on, and yielding to other jobs."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from ingest.connectors.types import Entry, RecordEntry
from ingest.errors import JobYielded
from ingest.jobs.queue.context import JobContext
from kebab.stack.supervisor import worker_stop

_Entry = TypeVar("_Entry", bound=Entry | RecordEntry)
# Least interval between writes to the job; cancellation is checked at each entry.
_EVERY_S = 1.0
# A listing that can be resumed yields after this time while other jobs wait, as items do.
_TURN_S = 10.0
_MAX_PATH_CHARS = 1_000


class ListingProgress:
    """A counter of the entries of a listing, which writes the count and the position as the job's progress.

    A listing that starts again after its worker died writes no number below the last one written.
    """

    def __init__(self, context: JobContext, clock: Callable[[], float] = time.monotonic) -> None:
        self._context = context
        self._clock = clock
        self._next_at = clock() + _EVERY_S
        self._turn_ends_at: float | None = None
        self.listed = 0

    def count_entries(self, entries: Iterable[_Entry]) -> Iterator[_Entry]:
        """Yield the entries and count them. Raises JobCancelled, LeaseLost, JobYielded."""
        for entry in entries:
            self.listed += 1
            self._write_progress(entry.path)
            yield entry

    def record_position(self, path: str) -> None:
        """Record the next position of a listing that can be resumed there.

        Raises JobCancelled, LeaseLost, and JobYielded: at once when the worker stops, for other jobs never
        before the first request of this turn.
        """
        is_written = self._write_progress(path)
        if worker_stop.is_requested():
            raise JobYielded(path)
        if self._turn_ends_at is None:
            self._turn_ends_at = self._clock() + _TURN_S
        elif (
            is_written and self._clock() >= self._turn_ends_at and self._context.others_wait(embedding=False)
        ):
            raise JobYielded(path)

    def _write_progress(self, path: str) -> bool:
        self._context.raise_if_stopped()
        now = self._clock()
        if now < self._next_at:
            return False
        self._next_at = now + _EVERY_S
        counts = self._context.job.counts
        self._context.lease.write(
            current_path=path[:_MAX_PATH_CHARS],
            counts={**counts, "listed": max(self.listed, counts.get("listed", 0))},
            stalled_attempts=0,
        )
        return True
