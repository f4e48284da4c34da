"""`kebab list KIND`."""

from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import CommandParser

from kebab.cli.command import BaseVerb
from kebab.cli.errors import Exit
from kebab.cli.listings import listings
from kebab.cli.lookup import the_workspace
from kebab.cli.output import table
from kebab.cli.parser import add_workspace
from kebab.people.models import Workspace

_MOST_ROWS = 10_000
# Rows that verbs list which take no --limit.
_ROWS_OF_VERBS = 1_000


def _limit(text: str) -> int:
    limit = int(text)
    if not 1 <= limit <= _MOST_ROWS:
        raise ArgumentTypeError(f"{limit} is out of range; give 1 to {_MOST_ROWS}")
    return limit


class Command(BaseVerb):
    help = "List what there is: sources, documents, jobs, members, tokens, what was done (audit), and more."
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("kind", choices=list(listings()))
        add_workspace(parser)
        parser.add_argument("--limit", type=_limit, default=100, metavar="N", help="at most so many (100)")

    def run_verb(self, *, kind: str, workspace: str | None, limit: int, **_: Any) -> int:
        scope = self.act_in(the_workspace(workspace)) if listings()[kind].is_scoped else None
        return print_listing(self, kind, scope, limit)


def print_listing(verb: BaseVerb, kind: str, scope: Workspace | None, limit: int | None = None) -> int:
    """Print the first `limit` rows of a listing, as the verb prints, and give its exit code."""
    limit = _ROWS_OF_VERBS if limit is None else limit
    listing = listings()[kind]
    rows = list(listing.rows(scope, limit + 1))
    shown, has_more = rows[:limit], len(rows) > limit
    if verb.as_json:
        verb.print_json({"schema_version": "listing.v1", "kind": kind, "rows": shown, "has_more": has_more})
    elif shown:
        verb.console.print(table(listing.columns, shown))
    if has_more:
        verb.remarks.print(f"There are more than {limit}; kebab list {kind} --limit shows more.")
    return Exit.DONE if shown else Exit.NOTHING
