"""`kebab bench`: the speed budgets on this machine."""

import signal
from argparse import ArgumentTypeError
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from ingest.cli.bench.figures import Figure, unmeasured
from ingest.cli.bench.ingestion import ingest_figures, upload_figure, warm_up
from ingest.cli.bench.machine import conditions, memory_figures
from ingest.cli.bench.searching import heading_queries, http_figures, in_process_figures
from ingest.cli.demo.corpus import write_corpus
from ingest.cli.scratch import scratch_workspace
from ingest.cli.targets import existing_path
from kebab.cli.console import table
from kebab.cli.verb import BaseVerb
from kebab.people.models import Workspace
from kebab.stack.state import StackState, running_state
from search.cli.bars import spinner
from search.models import Chunk, Document

_MOST_QUERIES = 10_000


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


class Command(BaseVerb):
    help = "Measure the speed budgets on this machine, in a workspace that is deleted after."
    needs = "workers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--path", type=_folder, metavar="FOLDER", help="what to ingest (the demo's documents)"
        )
        parser.add_argument(
            "--queries", type=_number, default=400, metavar="N", help="heading-like queries (400)"
        )

    def run_verb(self, *, path: Path | None, queries: int, **_: Any) -> None:
        # The scratch workspace is deleted however the measurement ends.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        folder = path or _demo_folder()
        with scratch_workspace("bench") as workspace:
            figures, found = self._measure(workspace, folder, queries)
        if self.as_json:
            rows = [asdict(figure) for figure in figures]
            self.print_json({"schema_version": "bench.v1", "conditions": found, "figures": rows})
        else:
            self._show(figures, found)

    def _measure(
        self, workspace: Workspace, folder: Path, number: int
    ) -> tuple[list[Figure], dict[str, Any]]:
        state = running_state(settings.KEBAB_DATA_DIR)
        with spinner(self.remarks, "Warming up ..."):
            warm_up(workspace)
        figures = ingest_figures(workspace, folder, self.remarks)
        queries = heading_queries(workspace, number)
        with spinner(self.remarks, "Searching ..."):
            figures += in_process_figures(workspace, queries)
            figures += _http_figures(workspace, state, queries)
        with spinner(self.remarks, "Uploading ..."):
            figures.append(upload_figure(workspace))
        figures += memory_figures(state)
        documents = Document.objects.in_workspace(workspace).count()
        chunks = Chunk.objects.in_workspace(workspace).count()
        return figures, conditions(chunks=chunks, documents=documents, queries=len(queries))

    def _show(self, figures: Sequence[Figure], found: dict[str, Any]) -> None:
        columns = ("figure", "value", "unit", "budget", "note")
        self.console.print(table(columns, map(_row, figures)))
        self.console.print("  ".join(f"{name} {value}" for name, value in found.items()), style="dim")


def _row(figure: Figure) -> dict[str, Any]:
    value = "-" if figure.value is None else f"{figure.value:,.1f}"
    return {**asdict(figure), "figure": figure.name, "value": value}


def _http_figures(workspace: Workspace, state: StackState | None, queries: Sequence[str]) -> list[Figure]:
    if state is None or not state.url:
        return [unmeasured("hybrid over HTTP", "no `kebab up` runs", unit="ms")]
    return http_figures(workspace, state.url, queries)


def _demo_folder() -> Path:
    folder: Path = settings.KEBAB_DATA_DIR / "demo"
    write_corpus(folder, settings.BASE_DIR)
    return folder
