"""`kebab source restrict`: who may read a source."""

from typing import Any

from django.core.management.base import CommandParser

from ingest.cli.source_readers import group_names, groups_named, reader_facts, said, source_named
from ingest.services.sources import restate_source
from kebab.cli.command import BaseVerb
from kebab.cli.lookup import the_workspace
from kebab.cli.output import plain
from kebab.cli.parser import add_workspace, subverb
from kebab.people.operator import the_operator


class Command(BaseVerb):
    help = "Restrict a source to groups, or open it to every member of its workspace."
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        verbs = parser.add_subparsers(dest="what", required=True, metavar="restrict")
        restrict = subverb(verbs, "restrict", "say which groups may read a source, from now on")
        restrict.add_argument("key", metavar="KEY", help="as kebab list sources names it")
        add_workspace(restrict)
        whom = restrict.add_mutually_exclusive_group(required=True)
        whom.add_argument(
            "--to",
            type=group_names,
            metavar="GROUP[,GROUP…]",
            help="names or ids; '' is none: then only owners and admins read it",
        )
        whom.add_argument("--open", action="store_true", help="every member of the workspace reads it")

    def run_verb(
        self, *, key: str, workspace: str | None, to: tuple[str, ...] | None, open: bool, **_: Any
    ) -> None:
        scope = self.act_in(the_workspace(workspace))
        source = source_named(scope, key)
        readers = None if to is None else groups_named(scope, to)
        restate_source(the_operator(scope), source, {"readers": readers})
        facts = reader_facts(source)
        if self.as_json:
            self.print_json(facts)
        else:
            self.console.print(plain(said(facts)))
