"""The recent use of threads by each caller, by which queues serve those first who used least."""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

_HALF_LIFE_S: Final = 10.0
_REMEMBERED: Final = 1_000
# For so long after a change of callers the threads count as shared.
_SHARED_S: Final = 1.0


class Usage:
    """The seconds for which callers have held slots, of which half are forgotten every ten seconds.

    All queues for threads of a process share one, so that a caller's searches, bulks and calls of tools
    count together.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        # Seconds, and when they were right.
        self._seconds: OrderedDict[str, tuple[float, float]] = OrderedDict()
        # Who took or released a slot last, and when that was another caller than the one before.
        self._latest = ""
        self._changed_at = float("-inf")

    @property
    def is_shared(self) -> bool:
        """Return whether several callers have used threads within the last second."""
        return self.clock() - self._changed_at < _SHARED_S

    def record(self, name: str, now: float) -> None:
        """Record that a caller takes or releases a slot."""
        if name != self._latest:
            self._latest, self._changed_at = name, now

    def charge(self, name: str, seconds: float) -> None:
        """Add the seconds for which a caller has held a slot."""
        now = self.clock()
        self._seconds[name] = self.seconds(name) + seconds, now
        self._seconds.move_to_end(name)
        if len(self._seconds) > _REMEMBERED:
            self._seconds.popitem(last=False)

    def seconds(self, name: str) -> float:
        """Return what is left of a caller's seconds."""
        seconds, since = self._seconds.get(name, (0.0, 0.0))
        return float(seconds * 0.5 ** ((self.clock() - since) / _HALF_LIFE_S)) if seconds else 0.0
