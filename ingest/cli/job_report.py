"""Printed report of a job."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from ingest.skip_messages import NO_TEXT
from kebab.cli.output import plain, table

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
    """Print the counts of an `ingest_report.v1` on one row, and the reasons behind them."""
    row = {**report, "embedded": report["embedding_calls"]}
    console.print(table(_COUNTS, [row]))
    by_reason = {
        "without text": {NO_TEXT: report["without_text"]} if report["without_text"] else {},
        "skipped": report["skipped_by_reason"],
        "failed": report["failed_by_reason"],
    }
    for what, reasons in by_reason.items():
        for reason, count in sorted(reasons.items()):
            examples = ", ".join(report["examples"].get(reason, [])[:3])
            console.print(plain(f"{what} {count} ({reason.replace('_', ' ')}): {examples}"))
            if reason in report["explanations"]:
                console.print(plain(f"  {report['explanations'][reason]}"))
    _print_project_file(console, report["project_file"])


def _print_project_file(console: Console, project_file: Mapping[str, Any] | None) -> None:
    if project_file is None:
        return
    for error in project_file["errors"]:
        place = f"{project_file['name']}: {error['key']}".removesuffix(": ")
        console.print(plain(f"{place}: {error['message']} All of the file is left aside."))
