"""`kebab list KIND`."""

from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import CommandParser

from kebab.cli.command import KebabCommand
from kebab.cli.errors import Exit
from kebab.cli.listings import listings
from kebab.cli.lookup import find_workspace
from kebab.cli.output import table
from kebab.cli.parser import add_workspace
from kebab.people.models import Workspace

_MOST_ROWS = 10_000
# Rows listed by commands without --limit.
_DEFAULT_ROWS = 1_000


def _limit(text: str) -> int:
    limit = int(text)
    if not 1 <= limit <= _MOST_ROWS:
        raise ArgumentTypeError(f"{limit} is out of range; give 1 to {_MOST_ROWS}")
    return limit


class Command(KebabCommand):
    help = "List what there is: sources, documents, jobs, members, tokens, what was done (audit), and more."
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("kind", choices=list(listings()))
        add_workspace(parser)
        parser.add_argument("--limit", type=_limit, default=100, metavar="N", help="at most so many (100)")

    def run_command(self, *, kind: str, workspace: str | None, limit: int, **_: Any) -> int:
        scope = self.act_in(find_workspace(workspace)) if listings()[kind].is_scoped else None
        return print_listing(self, kind, scope, limit)


def print_listing(command: KebabCommand, kind: str, scope: Workspace | None, limit: int | None = None) -> int:
    """Print the first `limit` rows of a listing in the command's format; return the exit code."""
    limit = _DEFAULT_ROWS if limit is None else limit
    listing = listings()[kind]
    rows = list(listing.all_rows(limit + 1) if scope is None else listing.rows(scope, limit + 1))
    shown, has_more = rows[:limit], len(rows) > limit
    if command.as_json:
        command.print_json(
            {"schema_version": "listing.v1", "kind": kind, "rows": shown, "has_more": has_more}
        )
    elif shown:
        command.console.print(table(listing.columns, shown))
    if has_more:
        command.remarks.print(f"There are more than {limit}; kebab list {kind} --limit shows more.")
    return Exit.DONE if shown else Exit.NOTHING
