"""`kebab bench`: the speed budgets on this machine, comparisons with peers, and the growth of costs."""

import signal
from argparse import ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from ingest.cli.bench.growth.measure import Growth, measure_growth
from ingest.cli.bench.growth.tenants import Tenants, measure_tenants
from ingest.cli.bench.ingestion import ingest_for_peers
from ingest.cli.bench.machine import conditions
from ingest.cli.bench.output import show
from ingest.cli.bench.peers.compare import compare_peers, measure_quality
from ingest.cli.bench.plan import PARTS, READING_PARTS, BudgetMeasurement, Plan, stack_url
from ingest.cli.bench.report.page import write_report
from ingest.cli.demo.corpus import write_corpus
from ingest.cli.scratch import scratch_workspace
from ingest.cli.targets import existing_path
from kebab.cli.command import KebabCommand
from kebab.cli.errors import CliError
from kebab.cli.lookup import find_workspace
from kebab.cli.output import plain
from kebab.people.models import Workspace
from kebab.stack.paths import DataDirectory
from search.evaluation.machine import describe_machine
from search.models import Chunk, Document

_MOST_QUERIES = 10_000
_MOST_CHUNKS = 5_000_000


def _folder(text: str) -> Path:
    path = existing_path(text)
    if not path.is_dir():
        raise ArgumentTypeError(f"{text!r} is not a folder")
    return path


def _number(text: str) -> int:
    number = int(text)
    if not 1 <= number <= _MOST_QUERIES:
        raise ArgumentTypeError(f"{number} is out of range; give 1 to {_MOST_QUERIES}")
    return number


def _sizes(text: str) -> tuple[int, ...]:
    sizes = tuple(int(each.replace("_", "")) for each in text.split(","))
    if list(sizes) != sorted(set(sizes)) or not 1 <= sizes[0] <= sizes[-1] <= _MOST_CHUNKS:
        raise ArgumentTypeError(f"{text!r} are no rising sizes from 1 to {_MOST_CHUNKS:,}")
    return sizes


def _parts(text: str) -> tuple[str, ...]:
    named = {part.strip() for part in text.split(",")}
    unknown = sorted(named - set(PARTS))
    if unknown:
        raise ArgumentTypeError(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    return tuple(part for part in PARTS if part in named)


class Command(KebabCommand):
    help = "Measure the speed budgets on this machine, peers beside Kebab, or how cost grows."
    needs = "workers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add = parser.add_argument
        add("--path", type=_folder, metavar="FOLDER", help="what to ingest (the demo's documents)")
        add("--workspace", metavar="W", help="search this one, which stays as it is, instead of a folder's")
        add("--queries", type=_number, default=400, metavar="N", help="heading-like queries (400)")
        add("--parts", type=_parts, metavar="PART,…", help=f"of {','.join(PARTS)} (all)")
        add("--peers", action="store_true", help="compare with the peers that are installed, by turns")
        add(
            "--beir",
            type=_folder,
            action="append",
            default=[],
            metavar="DIR",
            help="with --peers: quality on a judged set in BEIR's layout; may be repeated",
        )
        add("--growth", type=_sizes, metavar="N,…", help="measure at these numbers of chunks instead")
        add(
            "--embed-at-most",
            type=int,
            default=10_000,
            metavar="N",
            help="with --growth: chunks to embed; other vectors are made up around theirs (10,000)",
        )
        add(
            "--workspaces",
            type=int,
            metavar="N",
            help="measure so many workspaces of 100 chunks instead, on the running stack",
        )
        add("--report", type=Path, metavar="DIR", help="write figures, plots and a page there, too")

    def run_command(self, **options: Any) -> None:
        # The scratch workspace is deleted also when the measurement is interrupted.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        _check(options)
        document = {"schema_version": "bench.v1", **self._measure(options)}
        if options["report"] is not None:
            for sentence in write_report(options["report"], document):
                self.remarks.print(sentence)
        if self.as_json:
            self.print_json(document)
        else:
            show(self.console, document)

    def _measure(self, options: dict[str, Any]) -> dict[str, Any]:
        if options["growth"] is not None:
            return self._measure_growth(options)
        if options["workspaces"] is not None:
            return self._measure_tenants(options)
        if options["peers"]:
            return self._compare(options)
        with self._target_workspace(options) as (workspace, folder):
            parts = options["parts"] or (PARTS if folder else READING_PARTS)
            plan = Plan(parts=parts, queries=options["queries"])
            figures, found = BudgetMeasurement(
                workspace=workspace, folder=folder, plan=plan, remarks=self.remarks
            ).run()
        return {"conditions": found, "figures": [figure.as_json() for figure in figures]}

    @contextmanager
    def _target_workspace(self, options: dict[str, Any]) -> Iterator[tuple[Workspace, Path | None]]:
        """Yield the workspace to search, and the folder to ingest first, None for a filled workspace."""
        if options["workspace"] is not None:
            yield find_workspace(options["workspace"]), None
            return
        with scratch_workspace("bench") as workspace:
            yield workspace, options["path"] or _demo_folder()

    def _compare(self, options: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {"speed": [], "http": [], "skipped": {}}
        facts = conditions(chunks=0, documents=0, queries=0)
        if not options["beir"] or options["path"] or options["workspace"]:
            with self._target_workspace(options) as (workspace, folder):
                if folder is not None:
                    ingest_for_peers(workspace, folder, self.remarks)
                found = compare_peers(workspace, options["queries"], stack_url(), self._say)
                facts = _facts(workspace, options["queries"])
        return {
            "conditions": facts,
            "figures": [],
            "peers": {**found, "quality": measure_quality(options["beir"], self._say)},
        }

    def _measure_growth(self, options: dict[str, Any]) -> dict[str, Any]:
        growth = Growth(
            folder=options["path"] or _demo_folder(),
            sizes=options["growth"],
            embed_at_most=options["embed_at_most"],
            queries=options["queries"],
        )
        found = measure_growth(growth, stack_url(), self._say)
        last = found["rows"][-1]
        facts = conditions(chunks=last["chunks"], documents=last["documents"], queries=found["queries"])
        return {"conditions": facts, "figures": [], "growth": found}

    def _measure_tenants(self, options: dict[str, Any]) -> dict[str, Any]:
        tenants = Tenants(folder=options["path"] or _demo_folder(), number=options["workspaces"])
        found = measure_tenants(tenants, stack_url(), self._say)
        facts = {**describe_machine(), "chunks": found["chunks"], "queries": found["asked"]}
        return {"conditions": facts, "figures": [], "tenants": found}

    def _say(self, sentence: str) -> None:
        self.remarks.print(plain(sentence))


def _check(options: dict[str, Any]) -> None:
    """Raise CliError for incompatible options."""
    wrong = {
        "--path and --workspace": options["path"] and options["workspace"],
        "--beir without --peers": options["beir"] and not options["peers"],
        "--growth and --peers": options["growth"] and options["peers"],
        "--workspaces with another measurement": options["workspaces"]
        and (options["growth"] or options["peers"] or options["workspace"]),
        "--workspaces below 1": options["workspaces"] is not None and options["workspaces"] < 1,
        "--growth and --workspace": options["growth"] and options["workspace"],
        "--embed-at-most below 1": options["embed_at_most"] < 1,
        "--workspace with parts that write": options["workspace"]
        and set(options["parts"] or ()) - set(READING_PARTS),
    }
    for what, is_given in wrong.items():
        if is_given:
            raise CliError(f"kebab bench takes no {what}; see kebab bench --help.", code="invalid_request")


def _facts(workspace: Workspace, queries: int) -> dict[str, Any]:
    chunks = Chunk.objects.in_workspace(workspace).count()
    return conditions(
        chunks=chunks, documents=Document.objects.in_workspace(workspace).count(), queries=queries
    )


def _demo_folder() -> Path:
    folder = DataDirectory(settings.KEBAB_DATA_DIR).demo
    write_corpus(folder, settings.BASE_DIR)
    return folder
