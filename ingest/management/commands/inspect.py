"""`kebab inspect doc | chunk | job`, in this app because it shows jobs too, which search does not know."""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console
from rich.table import Table

from ingest.cli.inspect import find_job, job_facts
from kebab.cli.command import KebabCommand
from kebab.cli.lookup import find_workspace
from kebab.cli.output import plain, table
from kebab.cli.parser import add_subcommand, add_workspace
from search.cli.inspect import chunk_facts, document_facts, find_chunk, find_document

_CHUNK_COLUMNS = ("id", "citation", "kind", "tokens", "embedded", "mirrored", "breadcrumb")


class Command(KebabCommand):
    help = "Show what the index holds of a document, a chunk or a job."
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        commands = parser.add_subparsers(dest="what", required=True, metavar="doc|chunk|job")
        for what, name, meaning in (
            ("doc", "ID|PATH", "a document with its chunks"),
            ("chunk", "ID", "a chunk with its text"),
            ("job", "ID", "a job with its report and what failed in it"),
        ):
            command = add_subcommand(commands, what, meaning)
            command.add_argument("named", metavar=name)
            add_workspace(command)

    def run_command(self, *, what: str, named: str, workspace: str | None, **_: Any) -> None:
        scope = self.act_in(find_workspace(workspace))
        if what == "doc":
            facts = document_facts(scope, find_document(scope, named))
        elif what == "chunk":
            facts = chunk_facts(scope, find_chunk(scope, named))
        else:
            facts = job_facts(find_job(scope, named))
        if self.as_json:
            self.print_json(facts)
        else:
            _show(self.console, facts)


def _show(console: Console, facts: Mapping[str, Any]) -> None:
    for title, value in facts.items():
        if isinstance(value, Mapping):
            console.print(title.capitalize(), style="bold")
            text = value.get("text")
            console.print(_fields({name: each for name, each in value.items() if name != "text"}))
            if text is not None:
                console.print(plain(f"\n{text}"))
            console.print()
        elif isinstance(value, list) and value:
            columns = _CHUNK_COLUMNS if title == "chunks" else list(value[0])
            console.print(table(columns, value))


def _fields(facts: Mapping[str, Any]) -> Table:
    grid = Table.grid(padding=(0, 2))
    for name, value in facts.items():
        shown = "" if value in (None, "", [], {}) else plain(value)
        grid.add_row(f"  {name.replace('_', ' ')}", shown)
    return grid
