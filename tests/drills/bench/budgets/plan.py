"""Plan of the budget measurements: their parts and order."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from rich.console import Console

from kebab.cli.progress_bars import spinner
from kebab.identity.models import Workspace
from kebab.stack.supervisor.state import running_state
from search.models import Chunk, Document
from tests.drills.bench.budgets.agents import mcp_figure
from tests.drills.bench.budgets.agreement import agreement_figure
from tests.drills.bench.budgets.demo_start import demo_figures
from tests.drills.bench.budgets.figures import Figure, missing_figure
from tests.drills.bench.budgets.ingestion import embedding_figures, ingest_figures, upload_figure, warm_up
from tests.drills.bench.budgets.machine import conditions, memory_figures
from tests.drills.bench.budgets.mirror_rebuild import rebuild_figures
from tests.drills.bench.budgets.request_cost import request_cost_figures
from tests.drills.bench.budgets.resync import resync_figure
from tests.drills.bench.budgets.search import heading_queries, http_figures, in_process_figures

#: Parts of a measurement of budgets, in order of execution.
PARTS: Final = ("ingest", "embed", "search", "http", "upload", "resync", "rebuild", "memory", "demo")
#: Parts that leave a workspace unchanged, and so can run in one that is in use.
READING_PARTS: Final = ("search", "http", "rebuild", "memory", "demo")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The parts and queries of a measurement."""

    #: Of `PARTS`.
    parts: tuple[str, ...]
    #: Number of heading-like queries; as many again are used where no query may be known to the server.
    queries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetMeasurement:
    """A measurement of budgets in one workspace."""

    workspace: Workspace
    #: Folder to ingest; None: the workspace has its documents already.
    folder: Path | None
    plan: Plan
    remarks: Console

    def run(self) -> tuple[list[Figure], dict[str, Any]]:
        """Return the figures of the plan's parts, and the conditions."""
        figures = self._fill()
        headings = heading_queries(self.workspace, 2 * self.plan.queries)
        queries, unseen = headings[: self.plan.queries], headings[self.plan.queries :]
        with spinner(self.remarks, "Searching ..."):
            if "search" in self.plan.parts:
                figures += in_process_figures(self.workspace, queries)
                figures.append(agreement_figure(self.workspace, queries))
                figures += request_cost_figures(self.workspace, queries)
            if "http" in self.plan.parts:
                figures += self._measure_http(queries, unseen, figures)
        figures += self._measure_others(queries)
        return figures, self.conditions(len(queries))

    def conditions(self, queries: int) -> dict[str, Any]:
        """Return the conditions of the measurement."""
        documents = Document.objects.in_workspace(self.workspace).count()
        chunks = Chunk.objects.in_workspace(self.workspace).count()
        return conditions(chunks=chunks, documents=documents, queries=queries)

    def _fill(self) -> list[Figure]:
        if self.folder is None:
            return []
        with spinner(self.remarks, "Warming up ..."):
            warm_up(self.workspace)
        figures = ingest_figures(self.workspace, self.folder, self.remarks)
        if "embed" in self.plan.parts:
            figures += embedding_figures(self.workspace, figures, self.remarks)
        return figures if "ingest" in self.plan.parts else figures[1:]

    def _measure_http(
        self, queries: Sequence[str], unseen: Sequence[str], measured: Sequence[Figure]
    ) -> list[Figure]:
        url = stack_url()
        if not url:
            return [missing_figure("hybrid over HTTP", "no `kebab up` runs", unit="ms")]
        figures = http_figures(self.workspace, url, queries, unseen=unseen, in_process=measured)
        return [*figures, mcp_figure(self.workspace, url, queries)]

    def _measure_others(self, queries: Sequence[str]) -> list[Figure]:
        figures: list[Figure] = []
        with spinner(self.remarks, "Uploading, syncing, rebuilding ..."):
            if "upload" in self.plan.parts:
                figures.append(upload_figure(self.workspace))
            if "resync" in self.plan.parts and self.folder is not None:
                figures.append(resync_figure(self.workspace, self.folder, Console(quiet=True)))
            if "rebuild" in self.plan.parts:
                figures += rebuild_figures(self.workspace, stack_url(), queries)
            if "memory" in self.plan.parts:
                figures += memory_figures(running_state(settings.KEBAB_DATA_DIR))
            if "demo" in self.plan.parts:
                figures += demo_figures()
        return figures


def stack_url() -> str:
    """Return the URL of the running stack, '' when none runs."""
    state = running_state(settings.KEBAB_DATA_DIR)
    return "" if state is None else state.url
