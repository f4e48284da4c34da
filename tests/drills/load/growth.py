"""Detection of growth: the last third of a steady load compared with the first."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.drills.load.arrivals import AnswerLog
from tests.drills.load.gauges import Gauges


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A series, and the permitted increase from its first to its last third."""

    name: str
    factor: float
    #: Permitted increase, whatever the factor.
    slack: float


BOUNDS = (
    *(Bound(name=f"{name} MB", factor=1.1, slack=15) for name in ("web", "worker", "embedder", "mirror")),
    *(Bound(name=f"{name} MB", factor=1.1, slack=15) for name in ("beat", "redis")),
    # Its buffer cache grows until all data has been read.
    Bound(name="postgres MB", factor=1.5, slack=100),
    Bound(name="web files", factor=1.1, slack=20),
    Bound(name="mirror files", factor=1.1, slack=20),
    Bound(name="connections", factor=1.2, slack=5),
    Bound(name="WAL MB", factor=1.2, slack=100),
    Bound(name="open jobs", factor=1.5, slack=20),
    Bound(name="hints in Redis", factor=1.5, slack=20),
)
#: Permitted increase of latencies; the machine's own speed varies as much.
_LATENCY_FACTOR = 1.3


def growth(gauges: Gauges, log: AnswerLog, from_s: float, to_s: float) -> Iterator[str]:
    """Yield the series that grew in a period, as sentences."""
    (first_from, first_to), (last_from, last_to) = _thirds(from_s, to_s)
    for bound in BOUNDS:
        first = statistics.median(gauges.values(bound.name, first_from, first_to))
        last = statistics.median(gauges.values(bound.name, last_from, last_to))
        if last > max(bound.factor * first, first + bound.slack):
            yield f"{bound.name} rose from {first:.0f} to {last:.0f}"
    first_ms, last_ms = (_median_ms(log, *third) for third in _thirds(from_s, to_s))
    if last_ms > _LATENCY_FACTOR * first_ms:
        yield f"the median of hybrid searches rose from {first_ms:.0f} to {last_ms:.0f} ms"


def _thirds(from_s: float, to_s: float) -> tuple[tuple[float, float], tuple[float, float]]:
    third_s = (to_s - from_s) / 3
    return (from_s, from_s + third_s), (to_s - third_s, to_s)


def _median_ms(log: AnswerLog, from_s: float, to_s: float) -> float:
    return 1000 * statistics.median(latencies_s(log, "hybrid", from_s, to_s) or [0.0])


def latencies_s(log: AnswerLog, kind: str, from_s: float, to_s: float) -> Sequence[float]:
    """Return the seconds of the useful answers of a kind that were scheduled in a period."""
    return [
        answer.took_s
        for answer in log.answers
        if answer.kind == kind and answer.is_useful and from_s <= answer.due_s < to_s
    ]
