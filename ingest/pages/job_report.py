"""View model of a job's report."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Characters shown of an example's path.
_SHOWN_CHARS = 200
_FIGURES = ("new", "updated", "unchanged", "deleted", "skipped", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A reason why files were skipped or failed."""

    name: str
    #: A sentence that explains the reason; '' if there is none.
    words: str
    count: int
    #: Some of their paths.
    examples: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The outcomes of the files that a job read."""

    figures: list[tuple[str, int]]
    failed: list[Reason]
    skipped: list[Reason]


def build_report(report: Mapping[str, Any]) -> Report:
    """Build the view model of an `ingest_report.v1`; the reasons with the most files come first."""
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
