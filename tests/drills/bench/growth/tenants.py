"""Measurement of many small workspaces on one node: ingestion, searches, and the idle stack."""

import random
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from django.db import connection

from ingest.models import OPEN_STATES, Job
from ingest.tasks import end_spaces_task, release_expired_task, request_due_syncs_task, sweep_task
from kebab.cli.errors import CliError
from kebab.identity.models import Workspace
from kebab.people.operator import command_line_access, command_line_caller
from kebab.people.workspaces import create_workspace, delete_workspace
from kebab.stack.supervisor.state import running_state
from kebab.tenancy.current_workspace import acting_in
from search.embedders.base import Embedder
from search.embedders.configured import configured_embedder
from search.mirror import local_mirrors
from search.mirror.checks import mirror_rows
from search.mirror.sync.sync import sync_mirror
from search.models import Chunk
from search.retrieval.errors import EmbedderUnavailable
from search.retrieval.types import Mode
from search.tasks import prune_answers_task, prune_changes_task, prune_queries_task
from search.vectors.spaces import ensure_live_space
from tests.drills.bench.budgets.search import search_s, stack_client
from tests.drills.bench.folders import scratch_folder, sync_folder
from tests.drills.bench.growth.idle import count_resources, idle_cores
from tests.drills.bench.growth.measure import as_json, memory_mb, tables_bytes
from tests.drills.bench.growth.texts import GrowingText, TextWriter
from tests.drills.bench.growth.vectors import make_up

_SEED = 1
# Of recombined text, including the excess of a folder's last document.
_BYTES_A_CHUNK = 370
_ASKED = 200
_OVER_HTTP = 20
_IDLE_S = 30.0
_POLL_S = 0.5
_REAL_VECTORS = 256
# Periodic tasks, which run also without work to do.
_UPKEEP: dict[str, Callable[[], None]] = {
    "sweep": sweep_task,
    "due syncs": request_due_syncs_task,
    "prune changes": prune_changes_task,
    "prune answers": prune_answers_task,
    "prune queries": prune_queries_task,
    "end spaces": end_spaces_task,
    "release expired": release_expired_task,
}

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenants:
    """Number and size of the workspaces."""

    folder: Path
    number: int
    chunks_each: int = 100


def measure_tenants(tenants: Tenants, url: str, say: Say) -> dict[str, Any]:
    """Return the figures of the workspaces; `url` is the stack's or ''. Raises EmbedderUnavailable."""
    embedder = configured_embedder()
    if embedder is None:
        raise EmbedderUnavailable("Growth is measured with vectors; set KEBAB_EMBEDDER to an embedder.")
    before = tables_bytes()
    with (
        scratch_folder() as folder,
        _workspaces(tenants.number, say) as workspaces,
    ):
        rate = _ingest(tenants, workspaces, folder, say)
        say("Vectors ...")
        _fill_vectors(workspaces, embedder)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        return {
            "workspaces": len(workspaces),
            "chunks": _chunks(workspaces),
            "ingest_chunks_per_s": rate,
            "mirrors_built_per_s": _mirrors_per_s(workspaces, say),
            "disk_mb": _disk_mb(workspaces, before),
            **_search(workspaces, url, say),
            **_measure_idle(say),
        }


@contextmanager
def _workspaces(number: int, say: Say) -> Iterator[list[Workspace]]:
    mark, created = secrets.token_hex(3), []
    say(f"Making {number:,} workspaces ...")
    try:
        for place in range(number):
            created.append(
                create_workspace(command_line_caller(), f"tenant-{mark}-{place}", name=f"Tenant {place}")
            )
        yield created
    finally:
        say(f"Deleting {len(created):,} workspaces ...")
        for workspace in created:
            delete_workspace(command_line_access(workspace))


def _ingest(tenants: Tenants, workspaces: Sequence[Workspace], folder: Path, say: Say) -> float:
    """Request the ingestion of a folder per workspace, and return the chunks/s until all are done."""
    writer = TextWriter(GrowingText(tenants.folder), folder)
    size_bytes = tenants.chunks_each * _BYTES_A_CHUNK
    folders = [writer.write(size_bytes) for _ in workspaces]
    say("Ingesting ...")
    started = time.perf_counter()
    for workspace, each in zip(workspaces, folders, strict=True):
        with acting_in(workspace.pk):
            sync_folder(workspace, each, "docs")
    while Job.objects.filter(state__in=OPEN_STATES).exists():
        time.sleep(_POLL_S)
    took_s = time.perf_counter() - started
    if not (chunks := _chunks(workspaces)):
        raise CliError("No chunk came of the folders; see the workers' log.", code="bench_failed")
    return round(chunks / took_s, 1)


def _chunks(workspaces: Sequence[Workspace]) -> int:
    return Chunk.objects.filter(workspace__in=[workspace.pk for workspace in workspaces]).count()


def _fill_vectors(workspaces: Sequence[Workspace], embedder: Embedder) -> None:
    some = Chunk.objects.in_workspace(workspaces[0]).values_list("text", flat=True)[:_REAL_VECTORS]
    real = np.asarray(embedder.embed_passages(list(some)), np.float32)
    for workspace in workspaces:
        with acting_in(workspace.pk):
            make_up(ensure_live_space(workspace, embedder.space), real)


def _mirrors_per_s(workspaces: Sequence[Workspace], say: Say) -> float:
    """Build all mirrors, one after the other, as `kebab mirror warm` does."""
    say("Mirrors ...")
    for workspace in workspaces:
        local_mirrors.mirror_files(workspace.pk).delete_all()
    started = time.perf_counter()
    for workspace in workspaces:
        sync_mirror(local_mirrors.mirror_files(workspace.pk), workspace.pk, wait_s=60.0)
    return round(len(workspaces) / (time.perf_counter() - started), 1)


def _disk_mb(workspaces: Sequence[Workspace], before: int) -> dict[str, float]:
    mirrors = sum(local_mirrors.mirror_files(workspace.pk).size_bytes() for workspace in workspaces)
    return {"tables": round((tables_bytes() - before) / 1e6, 3), "mirrors": round(mirrors / 1e6, 3)}


def _search(workspaces: Sequence[Workspace], url: str, say: Say) -> dict[str, Any]:
    """Search some workspaces once in each mode, mostly with closed mirror files and without cached plans."""
    say("Searching ...")
    number = min(_ASKED, len(workspaces))
    searched = random.Random(_SEED).sample(list(workspaces), number)
    queries = [_query(workspace) for workspace in searched]
    modes = {}
    for mode in Mode:
        modes[mode.value] = as_json(
            [search_s(workspace, text, mode) for workspace, text in zip(searched, queries, strict=True)]
        )
    return {"asked": len(searched), "modes": modes, "http": _over_http(searched[:_OVER_HTTP], queries, url)}


def _over_http(workspaces: Sequence[Workspace], queries: Sequence[str], url: str) -> dict[str, float] | None:
    if not url:
        return None
    seconds: list[float] = []
    for workspace, text in zip(workspaces, queries, strict=False):
        with stack_client(workspace, url) as client:
            seconds += client.ask_all([text] * 3)
    return as_json(seconds)


def _query(workspace: Workspace) -> str:
    text = Chunk.objects.in_workspace(workspace).values_list("breadcrumb", flat=True)[0]
    return str(text).rpartition(" > ")[2]


def _measure_idle(say: Say) -> dict[str, Any]:
    """Return resources of the idle stack, and the durations of its periodic tasks and status."""
    upkeep = {name: _seconds(task) for name, task in _UPKEEP.items()}
    found: dict[str, Any] = {
        "upkeep_s": {**upkeep, "status": _seconds(mirror_rows)},
        "memory_mb": memory_mb(),
    }
    state = running_state(settings.KEBAB_DATA_DIR)
    if state is None or not state.url:
        return found
    say(f"At rest for {2 * _IDLE_S:.0f} s ...")
    time.sleep(_IDLE_S)
    return {**found, "idle_cores": idle_cores(state, _IDLE_S), "held": asdict(count_resources(state))}


def _seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return round(time.perf_counter() - started, 3)
