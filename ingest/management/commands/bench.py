"""`kebab bench`: the speed budgets on this machine."""

import signal
from argparse import ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from ingest.cli.bench.output import show
from ingest.cli.bench.plan import PARTS, READING_PARTS, BudgetMeasurement, Plan
from ingest.cli.scratch import demo_folder, scratch_workspace
from kebab.cli.client.ingest_targets import existing_folder
from kebab.cli.command import KebabCommand
from kebab.cli.errors import CliError
from kebab.cli.lookup import find_workspace
from kebab.people.models import Workspace

_MOST_QUERIES = 10_000


def _number(text: str) -> int:
    number = int(text)
    if not 1 <= number <= _MOST_QUERIES:
        raise ArgumentTypeError(f"{number} is out of range; give 1 to {_MOST_QUERIES}")
    return number


def _parts(text: str) -> tuple[str, ...]:
    named = {part.strip() for part in text.split(",")}
    unknown = sorted(named - set(PARTS))
    if unknown:
        raise ArgumentTypeError(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    return tuple(part for part in PARTS if part in named)


class Command(KebabCommand):
    help = "Measure the speed budgets on this machine."
    needs = "workers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add = parser.add_argument
        add("--path", type=existing_folder, metavar="FOLDER", help="what to ingest (the demo's documents)")
        add("--workspace", metavar="W", help="search this one, which stays as it is, instead of a folder's")
        add("--queries", type=_number, default=400, metavar="N", help="heading-like queries (400)")
        add("--parts", type=_parts, metavar="PART,…", help=f"of {','.join(PARTS)} (all)")

    def run_command(self, **options: Any) -> None:
        # The scratch workspace is deleted also when the measurement is interrupted.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        _check(options)
        with self._target_workspace(options) as (workspace, folder):
            parts = options["parts"] or (PARTS if folder else READING_PARTS)
            plan = Plan(parts=parts, queries=options["queries"])
            figures, found = BudgetMeasurement(
                workspace=workspace, folder=folder, plan=plan, remarks=self.remarks
            ).run()
        rows = [figure.as_json() for figure in figures]
        document = {"schema_version": "bench.v1", "conditions": found, "figures": rows}
        if self.as_json:
            self.print_json(document)
        else:
            show(self.console, document)

    @contextmanager
    def _target_workspace(self, options: dict[str, Any]) -> Iterator[tuple[Workspace, Path | None]]:
        """Yield the workspace to search, and the folder to ingest first, None for a filled workspace."""
        if options["workspace"] is not None:
            yield find_workspace(options["workspace"]), None
            return
        with scratch_workspace("bench") as workspace:
            yield workspace, options["path"] or demo_folder()


def _check(options: dict[str, Any]) -> None:
    """Raise CliError for incompatible options."""
    writes = set(options["parts"] or ()) - set(READING_PARTS)
    wrong = {
        "--path and --workspace": options["path"] and options["workspace"],
        "--workspace with parts that write": options["workspace"] and writes,
    }
    for what, is_given in wrong.items():
        if is_given:
            raise CliError(f"kebab bench takes no {what}; see kebab bench --help.", code="invalid_request")
