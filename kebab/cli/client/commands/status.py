"""`kebab status`: the processes, queues and lag of the stack."""

from collections.abc import Mapping, Sequence
from typing import Any

from kebab.cli.client.arguments import Parser
from kebab.cli.client.connection import ApiProblem, Connection, Needs
from kebab.cli.client.terminal import Terminal
from kebab.cli.output import plain
from kebab.exit_codes import Exit
from kebab.locations import data_directory

NEEDS: Needs = "running"
EXAMPLES = ("kebab status", "kebab status --json")


_NOT_RUNNING: Mapping[str, Any] = {
    "schema_version": "status.v1",
    "node": None,
    "url": "",
    "is_running": False,
    "processes": (),
    "queues": None,
    "reports": {},
}


def add_arguments(parser: Parser) -> None:
    """Add no arguments."""


def run(connection: Connection | None, options: dict[str, Any], terminal: Terminal) -> int:
    """Print the state of the stack, and return 3 where none runs or a process is silent."""
    try:
        status = _NOT_RUNNING if connection is None else connection.get("/status")
    except ApiProblem as problem:
        if problem.status != 403:
            raise
        facts = {"schema_version": "status.v1", "is_running": True}
        return terminal.answer(facts, "The server answers. Its processes are shown to operators alone.")
    if terminal.as_json:
        terminal.document(status)
    else:
        print_status(terminal, status)
    return Exit.DONE if is_healthy(status) else Exit.UNHEALTHY


def is_healthy(status: Mapping[str, Any]) -> bool:
    """Return whether a stack runs and all its processes answer."""
    return bool(status["is_running"]) and all(row["is_alive"] for row in status["processes"])


def print_status(terminal: Terminal, status: Mapping[str, Any]) -> None:
    """Print the tables of a `status.v1`."""
    if not status["is_running"]:
        terminal.print(f"No stack runs on {data_directory()}; `kebab up` starts one.")
    tables = {
        "Processes": status["processes"],
        "Queues": [{"queue": name, "waiting": n} for name, n in (status["queues"] or {}).items()],
        **{_title(name, rows): rows for name, rows in status["reports"].items()},
    }
    for title, rows in tables.items():
        if rows:
            terminal.print(title)
            terminal.table(tuple(rows[0]), rows)
            terminal.print()
    others = sorted({row["node"] for row in status["processes"] if row["is_alive"]} - {status["node"]})
    if others:
        terminal.print(plain(f"Each node shows its own mirrors; run it there for: {', '.join(others)}."))


def _title(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the title of a report, with the node that it is about if it is about one."""
    node = rows[0].get("node") if rows else None
    return name.capitalize() if node is None else plain(f"{name.capitalize()} of {node}")
