"""`kebab eval`: what retrieval is worth, on a judged set or on a workspace's own topics."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from ingest.cli.evaluation import beir as judged_set
from ingest.cli.evaluation import gate, run_topics, runs, topics
from ingest.cli.evaluation.subcommands import SubVerb, add_subverbs
from kebab.cli.command import BaseVerb
from kebab.cli.errors import CliError, Exit
from kebab.cli.lookup import the_workspace

SUBVERBS: tuple[SubVerb, ...] = (*topics.SUBVERBS, *run_topics.SUBVERBS, *runs.SUBVERBS, *gate.SUBVERBS)


class Command(BaseVerb):
    help = "Measure retrieval: on a judged set, in a workspace of its own, or on a workspace's topics."
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        judged_set.add_arguments(parser)
        add_subverbs(parser, SUBVERBS)

    def run_verb(self, *, beir: Path | None, subverb: SubVerb | None, **options: Any) -> int:
        if subverb is not None and beir is None:
            return subverb.run(self, self.act_in(the_workspace(options["workspace"])), options)
        if subverb is not None or beir is None:
            names = ", ".join(each.name for each in SUBVERBS)
            raise CliError(f"Give --beir DIR, or one of: {names}; one of the two.")
        judged_set.JudgedSetRuns(self).run(beir, **options)
        return Exit.DONE
