"""Periods in which a store was away, as seen by direct connections and never through Kebab."""

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from tests.drills.crash.siege.clock import now_s

#: Consequences of a fault may be noticed for this much longer than the fault.
GRACE_S = 5.0
_POLL_S = 0.05

IsBack = Callable[[], bool]


@dataclass(slots=True, kw_only=True)
class Outage:
    """A period in which a store was away, from the fault to the first answer after it."""

    store: str
    is_back: IsBack
    began_s: float
    ended_s: float | None = None
    #: Whether the fault is over, so that the store may be probed.
    is_watched: bool = False

    def excuses(self, at_s: float) -> bool:
        """Return whether a failure at that moment may be caused by it."""
        return self.began_s <= at_s and (self.ended_s is None or at_s <= self.ended_s + GRACE_S)


class Outages:
    """A thread that probes the stores that are away."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="outages", daemon=True)
        self.all: list[Outage] = []

    def __enter__(self) -> "Outages":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @contextmanager
    def mark_away(self, stores: Mapping[str, IsBack]) -> Iterator[None]:
        """Mark the stores as away during the block, and afterwards until each probe says that it is back."""
        started = [
            Outage(store=store, is_back=is_back, began_s=now_s()) for store, is_back in sorted(stores.items())
        ]
        self.all += started
        try:
            yield
        finally:
            for outage in started:
                outage.is_watched = True

    def are_over(self) -> bool:
        """Return whether no store is away."""
        return all(outage.ended_s is not None for outage in self.all)

    def excuse(self, stores: Collection[str], at_s: float) -> bool:
        """Return whether one of the stores was away at that moment, or just before."""
        return any(outage.store in stores and outage.excuses(at_s) for outage in self.all)

    def _run(self) -> None:
        while not self._stop.wait(_POLL_S):
            for outage in [each for each in self.all if each.is_watched and each.ended_s is None]:
                if outage.is_back():
                    outage.ended_s = now_s()
