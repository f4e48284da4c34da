"""The command line of `python -m tests.drills.bench`."""

import json
import signal
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from ingest.cli.scratch import scratch_workspace
from ingest.jobs.queue.request import request_embedding
from kebab.cli.client.ingest_targets import existing_folder
from kebab.cli.command import KebabCommand, add_subcommand
from kebab.cli.errors import CliError
from kebab.cli.lookup import find_workspace
from kebab.cli.output import plain
from kebab.identity.models import Workspace
from search.evaluation.record import describe_machine
from search.models import Chunk, Document
from tests.drills.bench.budgets.ingestion import check_succeeded, ingest_folder
from tests.drills.bench.budgets.machine import conditions
from tests.drills.bench.budgets.plan import PARTS, READING_PARTS, BudgetMeasurement, Plan, stack_url
from tests.drills.bench.folders import demo_folder
from tests.drills.bench.growth.filters import Filters, measure_filters
from tests.drills.bench.growth.measure import Growth, measure_growth
from tests.drills.bench.growth.tenants import Tenants, measure_tenants
from tests.drills.bench.job_progress import follow
from tests.drills.bench.output import show
from tests.drills.bench.peers.compare import compare_peers, measure_quality
from tests.drills.bench.report.page import write_report

_MOST_CHUNKS = 5_000_000


def _sizes(text: str) -> tuple[int, ...]:
    sizes = tuple(int(each.replace("_", "")) for each in text.split(","))
    if list(sizes) != sorted(set(sizes)) or not 1 <= sizes[0] <= sizes[-1] <= _MOST_CHUNKS:
        raise ArgumentTypeError(f"{text!r} are no rising sizes from 1 to {_MOST_CHUNKS:,}")
    return sizes


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ArgumentTypeError(f"{number} is below 1")
    return number


def _parts(text: str) -> tuple[str, ...]:
    named = {part.strip() for part in text.split(",")}
    unknown = sorted(named - set(PARTS))
    if unknown:
        raise ArgumentTypeError(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    return tuple(part for part in PARTS if part in named)


class Command(KebabCommand):
    """The measurements; each prints tables, or a `bench.v1` with `--json`."""

    help = "Measure the speed budgets, Kebab beside peers, and how its costs grow."
    needs = "workers"

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the subcommands."""
        super().add_arguments(parser)
        parser.add_argument(
            "--report", type=Path, metavar="DIR", help="write figures, plots and a page there, too"
        )
        kinds = parser.add_subparsers(dest="kind", required=True)
        budgets = _add_kind(kinds, "budgets", "measure the speed budgets on this machine", queries=400)
        budgets.add_argument(
            "--workspace", metavar="W", help="search this one, which is not changed, instead"
        )
        budgets.add_argument(
            "--parts", type=_parts, metavar="PART,…", help=f"of {','.join(PARTS)} (all that can be measured)"
        )
        peers = _add_kind(kinds, "peers", "compare with the peers that are installed, by turns", queries=400)
        peers.add_argument("--workspace", metavar="W", help="compare on this workspace, which is not changed")
        peers.add_argument(
            "--beir",
            type=existing_folder,
            action="append",
            default=[],
            metavar="DIR",
            help="a judged set in BEIR's layout; may be repeated",
        )
        growth = _add_kind(kinds, "growth", "measure one workspace at rising numbers of chunks", queries=400)
        growth.add_argument("sizes", type=_sizes, metavar="N,…")
        growth.add_argument(
            "--embed-at-most",
            type=_positive,
            default=10_000,
            metavar="N",
            help="chunks to embed; other vectors are synthesised (10,000)",
        )
        tenants = _add_kind(kinds, "tenants", "measure many workspaces of 100 chunks")
        tenants.add_argument("number", type=_positive, metavar="N")
        filters = _add_kind(kinds, "filters", "measure filters on metadata, and facets", queries=200)
        filters.add_argument("documents", type=_positive, metavar="N")
        add_subcommand(
            kinds, "report", "write the `bench.v1` on standard input, as `budgets --json` prints it"
        )

    def run_command(self, **options: Any) -> None:
        """Measure, print, and write the report."""
        # Workspaces are deleted also when the measurement is interrupted.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        measure = {
            "budgets": self._measure_budgets,
            "peers": self._compare,
            "growth": self._measure_growth,
            "tenants": self._measure_tenants,
            "filters": self._measure_filters,
            "report": lambda _: json.load(sys.stdin),
        }[options["kind"]]
        document = {"schema_version": "bench.v1", "figures": [], **measure(options)}
        if options["report"] is not None:
            for sentence in write_report(options["report"], document):
                self.remarks.print(sentence)
        if self.as_json:
            self.print_json(document)
        else:
            show(self.console, document)

    @contextmanager
    def _filled_workspace(self, options: dict[str, Any]) -> Iterator[Workspace]:
        if options["workspace"] is not None:
            yield find_workspace(options["workspace"])
            return
        with scratch_workspace("bench") as workspace:
            ingest_folder(workspace, options["path"] or demo_folder(), "bench", self.remarks)
            check_succeeded(follow(request_embedding(workspace.pk), self.remarks, "Embedding"))
            yield workspace

    def _measure_budgets(self, options: dict[str, Any]) -> dict[str, Any]:
        _check_budgets(options)
        every_part = PARTS if options["workspace"] is None else READING_PARTS
        plan = Plan(parts=options["parts"] or every_part, queries=options["queries"])
        if options["workspace"] is not None:
            return self._run_budgets(find_workspace(options["workspace"]), None, plan)
        with scratch_workspace("bench") as workspace:
            return self._run_budgets(workspace, options["path"] or demo_folder(), plan)

    def _run_budgets(self, workspace: Workspace, folder: Path | None, plan: Plan) -> dict[str, Any]:
        measurement = BudgetMeasurement(workspace=workspace, folder=folder, plan=plan, remarks=self.remarks)
        figures, found = measurement.run()
        return {"conditions": found, "figures": [figure.as_json() for figure in figures]}

    def _compare(self, options: dict[str, Any]) -> dict[str, Any]:
        if options["path"] and options["workspace"]:
            raise CliError("Give --path or --workspace, not both.", code="invalid_request")
        found: dict[str, Any] = {"speed": [], "http": [], "skipped": {}}
        facts = conditions(chunks=0, documents=0, queries=0)
        if not options["beir"] or options["path"] or options["workspace"]:
            with self._filled_workspace(options) as workspace:
                found = compare_peers(workspace, options["queries"], stack_url(), self._say)
                facts = _facts(workspace, options["queries"])
        quality = measure_quality(options["beir"], self._say)
        return {"conditions": facts, "peers": {**found, "quality": quality}}

    def _measure_growth(self, options: dict[str, Any]) -> dict[str, Any]:
        growth = Growth(
            folder=options["path"] or demo_folder(),
            sizes=options["sizes"],
            embed_at_most=options["embed_at_most"],
            queries=options["queries"],
        )
        found = measure_growth(growth, stack_url(), self._say)
        last = found["rows"][-1]
        facts = conditions(chunks=last["chunks"], documents=last["documents"], queries=found["queries"])
        return {"conditions": facts, "growth": found}

    def _measure_tenants(self, options: dict[str, Any]) -> dict[str, Any]:
        tenants = Tenants(folder=options["path"] or demo_folder(), number=options["number"])
        found = measure_tenants(tenants, stack_url(), self._say)
        facts = {**describe_machine(), "chunks": found["chunks"], "queries": found["asked"]}
        return {"conditions": facts, "tenants": found}

    def _measure_filters(self, options: dict[str, Any]) -> dict[str, Any]:
        filters = Filters(
            folder=options["path"] or demo_folder(),
            documents=options["documents"],
            queries=options["queries"],
        )
        found = measure_filters(filters, self._say)
        facts = conditions(chunks=found["documents"], documents=found["documents"], queries=found["queries"])
        return {"conditions": facts, "figures": found["figures"]}

    def _say(self, sentence: str) -> None:
        self.remarks.print(plain(sentence))


def _facts(workspace: Workspace, queries: int) -> dict[str, Any]:
    chunks = Chunk.objects.in_workspace(workspace).count()
    documents = Document.objects.in_workspace(workspace).count()
    return conditions(chunks=chunks, documents=documents, queries=queries)


def _check_budgets(options: dict[str, Any]) -> None:
    """Raise CliError for incompatible options."""
    writes = set(options["parts"] or ()) - set(READING_PARTS)
    wrong = {
        "--path and --workspace": options["path"] and options["workspace"],
        "--workspace with parts that write": options["workspace"] and writes,
    }
    for what, is_given in wrong.items():
        if is_given:
            raise CliError(f"budgets takes no {what}; see budgets --help.", code="invalid_request")


def _add_kind(kinds: Any, name: str, text: str, *, queries: int | None = None) -> CommandParser:
    """Add a measurement of the text in a folder, with a number of queries unless `queries` is None."""
    parser: CommandParser = add_subcommand(kinds, name, text)
    parser.add_argument(
        "--path", type=existing_folder, metavar="FOLDER", help="the text to measure on (the demo's)"
    )
    if queries is not None:
        text = f"heading-like queries ({queries})"
        parser.add_argument("--queries", type=_positive, default=queries, metavar="N", help=text)
    return parser
