"""Counters, histograms and gauges of one process, with an interface like `prometheus_client`'s.

They count into a file that survives a kill, but does not outlive its process, see `store`; that library's own
multiprocess files are sparse, and a write to one on a full disk ends the process by SIGBUS.
"""

from bisect import bisect_left
from time import perf_counter

from kebab.observability.metrics.files import Family, declare
from kebab.observability.metrics.store import process_store

#: Bucket bounds from a part of a lookup to a request that times out.
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
#: Bucket bounds from a short document to an index over a large workspace.
LONG_SECONDS = (0.05, 0.25, 1, 5, 15, 60, 300, 1_800, 7_200)


class Counter:
    """A number that only grows, and is lost with its process."""

    def __init__(self, name: str, help: str, *labels: str) -> None:
        self.family = declare(Family(name=name, help=help, kind="counter", labels=labels))
        if not labels:
            process_store().initialise(self.family, ())

    def with_zero(self, *values: str) -> "Counter":
        """Expose this series with 0 from the start, so that its first increase is visible; return self."""
        process_store().initialise(self.family, values)
        return self

    def add(self, *values: str, amount: float = 1.0) -> None:
        """Add to the series with these label values."""
        process_store().add(self.family, values, amount)


class Gauge:
    """A number that goes up and down."""

    def __init__(self, name: str, help: str, *labels: str) -> None:
        self.family = declare(Family(name=name, help=help, kind="gauge", labels=labels))

    def add(self, *values: str, amount: float) -> None:
        """Add to the series with these label values."""
        process_store().add(self.family, values, amount)

    def set(self, amount: float, *values: str) -> None:
        """Set the series with these label values."""
        process_store().set(self.family, values, amount)


class Histogram:
    """A histogram of durations."""

    def __init__(self, name: str, help: str, *labels: str, bounds: tuple[float, ...] = SECONDS) -> None:
        self._bounds = bounds
        self.family = declare(Family(name=name, help=help, kind="histogram", labels=labels, bounds=bounds))

    def observe(self, seconds: float, *values: str) -> None:
        """Count one duration."""
        process_store().observe(self.family, values, bisect_left(self._bounds, seconds), seconds)

    def time(self, *values: str) -> "_Timer":
        """Return a context manager that counts the duration of its block, however it ends."""
        return _Timer(self, values)


class _Timer:
    __slots__ = ("_began", "_histogram", "_values")

    def __init__(self, histogram: Histogram, values: tuple[str, ...]) -> None:
        self._histogram = histogram
        self._values = values

    def __enter__(self) -> None:
        self._began = perf_counter()

    def __exit__(self, *_: object) -> None:
        self._histogram.observe(perf_counter() - self._began, *self._values)
