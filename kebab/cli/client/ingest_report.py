"""The printed report of a job that reads documents."""

from collections.abc import Mapping
from typing import Any

from kebab.cli.client.terminal import Terminal
from kebab.cli.output import plain

_COUNTS = (
    *("seen", "new", "updated", "unchanged", "skipped", "failed", "deleted"),
    *("chunks", "embedded", "seconds"),
)
_NO_TEXT = "no_text"


def print_report(terminal: Terminal, report: Mapping[str, Any]) -> None:
    """Print the counts of an `ingest_report.v1` on one row, and the reasons behind them."""
    terminal.table(_COUNTS, [{**report, "embedded": report["embedding_calls"]}])
    by_reason = {
        "without text": {_NO_TEXT: report["without_text"]} if report["without_text"] else {},
        "skipped": report["skipped_by_reason"],
        "failed": report["failed_by_reason"],
        "left out of": {kind: counted["documents"] for kind, counted in report["omissions"].items()},
    }
    for what, reasons in by_reason.items():
        for reason, count in sorted(reasons.items()):
            examples = ", ".join(report["examples"].get(reason, [])[:3])
            terminal.print(plain(f"{what} {count} ({reason.replace('_', ' ')}): {examples}"))
            if reason in report["explanations"]:
                terminal.print(plain(f"  {report['explanations'][reason]}"))
    for warning in report["warnings"]:
        terminal.print(plain(warning))
    project_file = report["project_file"]
    for error in () if project_file is None else project_file["errors"]:
        place = f"{project_file['name']}: {error['key']}".removesuffix(": ")
        terminal.print(plain(f"{place}: {error['message']} All of the file is left aside."))
