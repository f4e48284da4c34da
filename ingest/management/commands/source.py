"""`kebab source restrict|trust`: change the readers or the trust level of a source."""

from typing import Any

from django.core.management.base import CommandParser

from ingest.cli.source_readers import describe_readers, find_groups, find_source, group_names, reader_facts
from ingest.services.sources import update_source
from kebab.cli.command import KebabCommand
from kebab.cli.lookup import find_workspace
from kebab.cli.output import plain
from kebab.cli.parser import add_subcommand, add_workspace
from kebab.people.operator import command_line_access
from search.models import Trust


class Command(KebabCommand):
    help = "Change who reads a source, or how far its documents can be relied on."
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        commands = parser.add_subparsers(dest="what", required=True, metavar="restrict|trust")
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
        trust = add_subcommand(commands, "trust", "set the trust level of documents that state no other")
        trust.add_argument("key", metavar="KEY", help="as kebab list sources names it")
        trust.add_argument("level", choices=Trust.values, metavar="LEVEL", help=", ".join(Trust.values))
        add_workspace(trust)

    def run_command(self, *, what: str, key: str, workspace: str | None, **options: Any) -> None:
        scope = self.act_in(find_workspace(workspace))
        source = find_source(scope, key)
        if what == "trust":
            update_source(command_line_access(scope), source, {"default_trust": options["level"]})
            facts = {"schema_version": "source_trust.v1", "source": key, "default_trust": options["level"]}
            described = f"Documents of {key} are {options['level']}, unless they state another level."
        else:
            readers = None if options["to"] is None else find_groups(scope, options["to"])
            update_source(command_line_access(scope), source, {"readers": readers})
            facts = reader_facts(source)
            described = describe_readers(facts)
        if self.as_json:
            self.print_json(facts)
        else:
            self.console.print(plain(described))
