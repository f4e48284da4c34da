"""Figures of a measurement, with unit and budget."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from search.evaluation.results import Latencies


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured figure; `value` is None where it could not be measured, with the reason in `note`."""

    name: str
    value: float | None
    unit: str
    #: Budget: upper or lower limit; None for no such limit.
    at_most: float | None = None
    at_least: float | None = None
    #: Description of a budget that depends on another figure.
    rule: str = ""
    note: str = ""

    @property
    def budget(self) -> str:
        """Return the budget in words; '' where there is none."""
        limit = self.at_least if self.at_most is None else self.at_most
        if limit is None:
            return self.rule
        word = "at least" if self.at_most is None else "at most"
        text = f"{word} {limit:,.1f}".removesuffix(".0")
        return f"{text} ({self.rule})" if self.rule else text

    @property
    def is_met(self) -> bool | None:
        """Return whether the budget is met; None without a budget, or when it could not be measured."""
        if self.value is None or self.at_most is self.at_least is None:
            return None
        below = self.at_most is None or self.value <= self.at_most
        return below and (self.at_least is None or self.value >= self.at_least)

    def as_json(self) -> dict[str, Any]:
        """Return the figure as part of `bench.v1`."""
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "budget": self.budget,
            "at_most": self.at_most,
            "at_least": self.at_least,
            "is_met": self.is_met,
            "note": self.note,
        }


def latency_figures(
    name: str,
    seconds: Sequence[float],
    *,
    p50: float | None = None,
    p95: float | None = None,
    rule: str = "",
) -> list[Figure]:
    """Return median and 95th percentile of `seconds`; `p50` and `p95` are their budgets in milliseconds.

    `rule` describes the median's budget.
    """
    found = Latencies.of(seconds)
    return [
        Figure(name=f"{name}, p50", value=found.p50_ms, unit="ms", at_most=p50, rule=rule),
        Figure(name=f"{name}, p95", value=found.p95_ms, unit="ms", at_most=p95),
    ]


def missing_figure(name: str, why: str, *, unit: str = "") -> Figure:
    """Return a figure that could not be measured."""
    return Figure(name=name, value=None, unit=unit, note=why)


def value_of(figures: Sequence[Figure], name: str) -> float | None:
    """Return the value of the figure `name`, None when it was not measured."""
    return next((figure.value for figure in figures if figure.name == name), None)
