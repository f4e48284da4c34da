"""What a measurement gives: figures with their unit, and the budget where there is one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured figure; `value` is None where it could not be measured, and `note` says why."""

    name: str
    value: float | None
    unit: str
    #: What it should be, in words; empty where there is no budget.
    budget: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """How long requests took, in milliseconds."""

    p50_ms: float
    p95_ms: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Latencies":
        """Give the percentiles of at least one duration."""
        return cls(p50_ms=percentile(seconds, 50) * 1000, p95_ms=percentile(seconds, 95) * 1000)


def percentile(values: Sequence[float], percent: float) -> float:
    """Give the smallest of `values` that at least `percent` of them don't exceed (nearest rank)."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(len(ranked) * percent / 100) - 1)]


def latency_figures(name: str, seconds: Sequence[float], *, p50: str = "", p95: str = "") -> list[Figure]:
    """Give median and 95th percentile of `seconds`; `p50` and `p95` are their budgets."""
    found = Latencies.of(seconds)
    return [
        Figure(name=f"{name}, p50", value=found.p50_ms, unit="ms", budget=p50),
        Figure(name=f"{name}, p95", value=found.p95_ms, unit="ms", budget=p95),
    ]


def unmeasured(name: str, why: str, *, unit: str = "") -> Figure:
    """Give a figure that could not be measured."""
    return Figure(name=name, value=None, unit=unit, note=why)
