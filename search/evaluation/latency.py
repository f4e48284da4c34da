"""Percentiles of request latencies."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """Percentiles of durations, in milliseconds."""

    p50_ms: float
    p95_ms: float
    p99_ms: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Latencies":
        """Return the percentiles of at least one duration."""
        p50, p95, p99 = (percentile(seconds, each) * 1000 for each in (50, 95, 99))
        return cls(p50_ms=p50, p95_ms=p95, p99_ms=p99)


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that at least `percent` of `values` don't exceed (nearest rank)."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(len(ranked) * percent / 100) - 1)]
