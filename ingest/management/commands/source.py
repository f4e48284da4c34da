"""`kebab source restrict`: restrict the readers of a source."""

from typing import Any

from django.core.management.base import CommandParser

from ingest.cli.source_readers import describe_readers, find_groups, find_source, group_names, reader_facts
from ingest.services.sources import update_source
from kebab.cli.command import KebabCommand
from kebab.cli.lookup import find_workspace
from kebab.cli.output import plain
from kebab.cli.parser import add_subcommand, add_workspace
from kebab.people.operator import command_line_access


class Command(KebabCommand):
    help = "Restrict a source to groups, or open it to every member of its workspace."
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        commands = parser.add_subparsers(dest="what", required=True, metavar="restrict")
        restrict = add_subcommand(commands, "restrict", "say which groups may read a source, from now on")
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

    def run_command(
        self, *, key: str, workspace: str | None, to: tuple[str, ...] | None, open: bool, **_: Any
    ) -> None:
        scope = self.act_in(find_workspace(workspace))
        source = find_source(scope, key)
        readers = None if to is None else find_groups(scope, to)
        update_source(command_line_access(scope), source, {"readers": readers})
        facts = reader_facts(source)
        if self.as_json:
            self.print_json(facts)
        else:
            self.console.print(plain(describe_readers(facts)))
