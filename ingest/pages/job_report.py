"""A job's report as its page shows it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Of an example's path.
_SHOWN_CHARS = 200
_FIGURES = ("new", "updated", "unchanged", "deleted", "skipped", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why some files were left out."""

    name: str
    #: In a sentence; '' for a reason that has none.
    words: str
    count: int
    #: Some of their paths.
    examples: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What became of what a job read."""

    figures: list[tuple[str, int]]
    failed: list[Reason]
    skipped: list[Reason]


def report_of(report: Mapping[str, Any]) -> Report:
    """Return what is shown of an `ingest_report.v1`; reasons with the most files first."""
    return Report(
        figures=[(name, report[name]) for name in _FIGURES],
        failed=_reasons(report, report["failed_by_reason"]),
        skipped=_reasons(report, report["skipped_by_reason"]),
    )


def _reasons(report: Mapping[str, Any], counts: Mapping[str, int]) -> list[Reason]:
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [
        Reason(
            name=name,
            words=report["explanations"].get(name, ""),
            count=count,
            examples=[path[:_SHOWN_CHARS] for path in report["examples"].get(name, ())],
        )
        for name, count in ordered
    ]
