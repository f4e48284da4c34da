"""`kebab eval`: retrieval quality on a judged set or on a workspace's own topics."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from ingest.cli.evaluation import beir as judged_set
from ingest.cli.evaluation import gate, run_topics, runs, topics
from ingest.cli.evaluation.subcommands import Subcommand, add_subcommands
from kebab.cli.command import KebabCommand
from kebab.cli.errors import CliError
from kebab.cli.lookup import find_workspace
from kebab.exit_codes import Exit
from kebab.stack.supervisor.plan import Roles

SUBCOMMANDS: tuple[Subcommand, ...] = (
    *topics.SUBCOMMANDS,
    *run_topics.SUBCOMMANDS,
    *runs.SUBCOMMANDS,
    *gate.SUBCOMMANDS,
)


class Command(KebabCommand):
    help = "Measure retrieval: on a judged set, in a workspace of its own, or on a workspace's topics."
    needs = Roles.SERVERS

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        judged_set.add_arguments(parser)
        add_subcommands(parser, SUBCOMMANDS)

    def run_command(self, *, beir: Path | None, subcommand: Subcommand | None, **options: Any) -> int:
        if subcommand is not None and beir is None:
            return subcommand.run(self, self.act_in(find_workspace(options["workspace"])), options)
        if subcommand is not None or beir is None:
            names = ", ".join(each.name for each in SUBCOMMANDS)
            raise CliError(f"Give --beir DIR, or one of: {names}; one of the two.")
        judged_set.JudgedSetRuns(self).run(beir, **options)
        return Exit.DONE
