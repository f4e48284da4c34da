"""The report of a job as people read it."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from kebab.cli.console import plain, table

_COUNTS = (
    "seen",
    "new",
    "updated",
    "unchanged",
    "skipped",
    "failed",
    "deleted",
    "chunks",
    "embedded",
    "seconds",
)


def print_report(console: Console, report: Mapping[str, Any]) -> None:
    """Print the counts of an `ingest_report.v1` on one row, and why files were skipped or failed."""
    row = {**report, "embedded": report["embedding_calls"]}
    console.print(table(_COUNTS, [row]))
    for what in ("skipped", "failed"):
        for reason, count in sorted(report[f"{what}_by_reason"].items()):
            examples = ", ".join(report["examples"].get(reason, [])[:3])
            console.print(plain(f"{what} {count} ({reason.replace('_', ' ')}): {examples}"))
