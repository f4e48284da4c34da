"""How far a listing has come, told in its job while it goes on, and when it makes room for other jobs."""

import time
from collections.abc import Callable, Iterable, Iterator

from ingest.connectors.types import Entry
from ingest.errors import TurnOver
from ingest.jobs.queue.context import Work
from kebab.stack.supervisor import worker_stop

# The job is written this often at most; a request for its end is seen by each entry.
_EVERY_S = 1.0
# A listing that can go on where it was makes room after this while other jobs wait, as items do.
_TURN_S = 10.0
_MAX_PATH_CHARS = 1_000


class ListingProgress:
    """Counts the entries of a listing and writes where it is; a listing that goes on is progress.

    One that begins again after its worker died tells no number below the last one told.
    """

    def __init__(self, work: Work, clock: Callable[[], float] = time.monotonic) -> None:
        self._work = work
        self._clock = clock
        self._next_at = clock() + _EVERY_S
        self._turn_ends_at: float | None = None
        self.listed = 0

    def over(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """Return the entries. Raises JobCancelled, LeaseLost, TurnOver."""
        for entry in entries:
            self.listed += 1
            self._tell(entry.path)
            yield entry

    def at(self, path: str) -> None:
        """Note what is asked for next by a listing that can go on there.

        Raises JobCancelled, LeaseLost, and TurnOver: at once when the worker stops, for other jobs never
        before something was asked for in this turn.
        """
        is_told = self._tell(path)
        if worker_stop.is_asked():
            raise TurnOver(path)
        if self._turn_ends_at is None:
            self._turn_ends_at = self._clock() + _TURN_S
        elif is_told and self._clock() >= self._turn_ends_at and self._work.others_wait(embedding=False):
            raise TurnOver(path)

    def _tell(self, path: str) -> bool:
        self._work.go_on()
        now = self._clock()
        if now < self._next_at:
            return False
        self._next_at = now + _EVERY_S
        counts = self._work.job.counts
        self._work.lease.write(
            current_path=path[:_MAX_PATH_CHARS],
            counts={**counts, "listed": max(self.listed, counts.get("listed", 0))},
            stalled_attempts=0,
        )
        return True
