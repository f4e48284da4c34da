"""Counters, histograms and gauges of one process, as `prometheus_client` has them.

They count into a file that outlives no process and survives a kill, see `store`; that library's own files
for several processes are sparse, and a write to one on a full disk ends the process by SIGBUS.
"""

from bisect import bisect_left
from time import perf_counter

from kebab.observability.metrics.metric import Family, declare
from kebab.observability.metrics.store import own_store

#: From a part of a lookup to a request that is given up.
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
#: From a short document to an index over a large workspace.
LONG_SECONDS = (0.05, 0.25, 1, 5, 15, 60, 300, 1_800, 7_200)


class Counter:
    """Only grows; what it has come to ends with its process."""

    def __init__(self, name: str, help: str, *labels: str) -> None:
        self.family = declare(Family(name=name, help=help, kind="counter", labels=labels))
        if not labels:
            own_store().begin_at_zero(self.family, ())

    def starting_with(self, *values: str) -> "Counter":
        """Have this series there from the start, so that its first count is seen to be one; give itself."""
        own_store().begin_at_zero(self.family, values)
        return self

    def add(self, *values: str, amount: float = 1.0) -> None:
        """Count under these values of its labels."""
        own_store().add(self.family, values, amount)


class Gauge:
    """Goes up and down."""

    def __init__(self, name: str, help: str, *labels: str) -> None:
        self.family = declare(Family(name=name, help=help, kind="gauge", labels=labels))

    def add(self, *values: str, amount: float) -> None:
        """Change it under these values of its labels."""
        own_store().add(self.family, values, amount)

    def set(self, amount: float, *values: str) -> None:
        """Return what it is now."""
        own_store().set(self.family, values, amount)


class Histogram:
    """Counts how long things took, by buckets."""

    def __init__(self, name: str, help: str, *labels: str, bounds: tuple[float, ...] = SECONDS) -> None:
        self._bounds = bounds
        self.family = declare(Family(name=name, help=help, kind="histogram", labels=labels, bounds=bounds))

    def observe(self, seconds: float, *values: str) -> None:
        """Count one that took so long."""
        own_store().observe(self.family, values, bisect_left(self._bounds, seconds), seconds)

    def timed(self, *values: str) -> "_Timed":
        """Count what is inside, however it ends."""
        return _Timed(self, values)


class _Timed:
    __slots__ = ("_began", "_histogram", "_values")

    def __init__(self, histogram: Histogram, values: tuple[str, ...]) -> None:
        self._histogram = histogram
        self._values = values

    def __enter__(self) -> None:
        self._began = perf_counter()

    def __exit__(self, *_: object) -> None:
        self._histogram.observe(perf_counter() - self._began, *self._values)
