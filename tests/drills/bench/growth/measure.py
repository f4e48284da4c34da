"""Measurement of a growing workspace, filled to each size through the ordinary pipeline."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import connection
from rich.console import Console

from ingest.cli.scratch import scratch_workspace
from kebab.identity.models import Workspace
from kebab.stack.supervisor.state import running_state
from search.embedders.base import Embedder
from search.embedders.configured import configured_embedder
from search.evaluation.results import Latencies
from search.mirror import local_mirrors
from search.mirror.sync.sync import rebuild_mirror
from search.models import Chunk, Document, EmbeddingSpace
from search.retrieval.errors import EmbedderUnavailable
from search.retrieval.types import Mode
from search.vectors.index import drop_index_concurrently, ensure_index, index_name
from search.vectors.quantised_file import SUFFIX
from search.vectors.quantised_index import prepare_codes
from search.vectors.spaces import ensure_live_space, update_known_share
from tests.drills.bench.budgets.ingestion import ingest_folder, warm_up
from tests.drills.bench.budgets.machine import memory_figures
from tests.drills.bench.budgets.search import WARM_UP, heading_queries, search_all, stack_client
from tests.drills.bench.folders import scratch_folder
from tests.drills.bench.growth.idle import cpu_taken
from tests.drills.bench.growth.texts import GrowingText, TextWriter
from tests.drills.bench.growth.vectors import Filled, fill_vectors

_MB = 1_000_000
# Includes the partitions of partitioned tables.
_BYTES = """
SELECT coalesce(sum(pg_total_relation_size(relid)), 0) FROM unnest(%s::text[]) name,
LATERAL (SELECT to_regclass(name) AS relid UNION SELECT relid FROM pg_partition_tree(to_regclass(name))) parts
"""
# A step approaches its size in batches of this share of the missing chunks; the last one passes it.
_CAUTION = 0.85
_PASSING = 1.1
_NEAR = 0.03
# Lower estimate, used until the first batch is measured.
_BYTES_A_CHUNK = 350

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Sizes and inputs of the measurement."""

    folder: Path
    #: Chunks, rising.
    sizes: tuple[int, ...]
    embed_at_most: int
    queries: int


def measure_growth(growth: Growth, url: str, say: Say) -> dict[str, Any]:
    """Return a row of figures for each size; `url` is the stack's or ''. Raises EmbedderUnavailable."""
    embedder = configured_embedder()
    if embedder is None:
        raise EmbedderUnavailable("Growth is measured with vectors; set KEBAB_EMBEDDER to an embedder.")
    text = GrowingText(growth.folder)
    with (
        scratch_folder() as folder,
        scratch_workspace("bench-growth") as workspace,
    ):
        warm_up(workspace)
        growing = _Growing(
            workspace=workspace,
            writer=TextWriter(text, folder),
            embedder=embedder,
            space=ensure_live_space(workspace, embedder.space),
            tables_before=tables_bytes(),
            url=url,
            say=say,
        )
        rows: list[dict[str, Any]] = []
        queries: list[str] = []
        for size in growth.sizes:
            rate = growing.fill_to(size)
            queries = queries or heading_queries(workspace, growth.queries)
            rows.append(growing.measure(size, rate, growing.vectors(growth.embed_at_most), queries))
    return {"rows": rows, "real_documents": text.real, "queries": len(queries), **_conditions(growth)}


def _conditions(growth: Growth) -> dict[str, Any]:
    return {"embed_at_most": growth.embed_at_most, "exact_scan_limit": settings.KEBAB_EXACT_SCAN_LIMIT}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Growing:
    """A scratch workspace that is being filled."""

    workspace: Workspace
    writer: TextWriter
    embedder: Embedder
    space: EmbeddingSpace
    tables_before: int
    url: str
    say: Say

    def fill_to(self, size: int) -> float:
        """Ingest until there are `size` chunks or a few more; return the chunks/s of the largest batch."""
        added = written = 0
        largest = (0, 0.0)
        while (missing := size - self._chunks()) > 0:
            bytes_a_chunk = written / added if added else _BYTES_A_CHUNK
            share = _CAUTION if missing > size * _NEAR else _PASSING
            folder = self.writer.write(int(missing * bytes_a_chunk * share))
            written += sum(path.stat().st_size for path in folder.rglob("*.md"))
            self.say(f"{size:,} chunks: ingesting {folder.name}, {missing:,} missing ...")
            more, seconds = ingest_folder(self.workspace, folder, folder.name, Console(quiet=True))
            added, largest = added + more, max(largest, (more, more / seconds))
        return largest[1]

    def vectors(self, embed_at_most: int) -> dict[str, Any]:
        """Store a vector for every chunk, rebuild the index, and return the numbers and the build time."""
        self.say("Vectors ...")
        self.space.refresh_from_db()
        if self.space.is_indexed:
            drop_index_concurrently(self.space)  # a rebuild takes a fraction of the time of insertions
            self.space.refresh_from_db()
        filled: Filled = fill_vectors(self.workspace, self.space, self.embedder, embed_at_most=embed_at_most)
        update_known_share(self.space, self.embedder.space)
        started = time.perf_counter()
        is_indexed = ensure_index(self.space)
        seconds = time.perf_counter() - started
        self.space.refresh_from_db()
        prepare_codes(self.space)
        return {
            "embedded": filled.embedded,
            "made_up": filled.made_up,
            "index_build_s": round(seconds, 2) if is_indexed else None,
        }

    def measure(
        self, size: int, rate: float, vectors: Mapping[str, Any], queries: Sequence[str]
    ) -> dict[str, Any]:
        """Return the figures at this size."""
        self.say(f"{size:,} chunks: searching ...")
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        return {
            "size": size,
            "chunks": self._chunks(),
            "documents": Document.objects.in_workspace(self.workspace).count(),
            "ingest_chunks_per_s": round(rate, 1),
            "vectors": dict(vectors),
            "modes": {mode.value: self._latencies(mode, queries) for mode in Mode},
            "http": self._http(queries),
            "cpu_ms": self._cpu_ms(queries),
            "disk_mb": self._disk_mb(),
            "mirror_rebuild_s": self._rebuild_s(),
            "memory_mb": memory_mb(),
        }

    def _latencies(self, mode: Mode, queries: Sequence[str]) -> dict[str, float]:
        return as_json(search_all(self.workspace, queries, mode))

    def _http(self, queries: Sequence[str]) -> dict[str, float] | None:
        if not self.url:
            return None
        with stack_client(self.workspace, self.url) as client:
            client.ask_all(queries[:10])
            return as_json(client.ask_all(queries))

    def _cpu_ms(self, queries: Sequence[str]) -> dict[str, float] | None:
        """Return the CPU time of a hybrid search in this process and in the embedded Postgres."""
        state = running_state(settings.KEBAB_DATA_DIR)
        if state is None:
            return None
        started = time.process_time()
        taken = cpu_taken(state, lambda: search_all(self.workspace, queries, Mode.HYBRID))
        own_ms = (time.process_time() - started) * 1000
        number = len(queries) + min(len(queries), WARM_UP)
        postgres_ms = taken.get("postgres", 0.0) * 1000
        return {"web": round(own_ms / number, 3), "postgres": round(postgres_ms / number, 3)}

    def _disk_mb(self) -> dict[str, float]:
        index = _relation_bytes([index_name(self.space)])
        files = [
            path
            for path in local_mirrors.mirror_files(self.workspace.pk).directory.rglob("*")
            if path.is_file()
        ]
        all_bytes = sum(path.stat().st_size for path in files)
        codes = sum(path.stat().st_size for path in files if path.suffix == SUFFIX)
        tables = tables_bytes() - self.tables_before - index
        return {
            "tables": round(tables / _MB, 3),
            "vector_index": round(index / _MB, 3),
            "mirror": round((all_bytes - codes) / _MB, 3),
            "codes": round(codes / _MB, 3),
        }

    def _rebuild_s(self) -> float:
        started = time.perf_counter()
        rebuild_mirror(local_mirrors.mirror_files(self.workspace.pk), self.workspace.pk)
        return round(time.perf_counter() - started, 2)

    def _chunks(self) -> int:
        return Chunk.objects.in_workspace(self.workspace).count()


def as_json(seconds: Sequence[float]) -> dict[str, float]:
    """Return median and 95th percentile, in milliseconds."""
    found = Latencies.of(seconds)
    return {"p50_ms": round(found.p50_ms, 3), "p95_ms": round(found.p95_ms, 3)}


def memory_mb() -> dict[str, float]:
    """Return the memory of the stack's processes by their names."""
    figures = memory_figures(running_state(settings.KEBAB_DATA_DIR))
    return {
        figure.name.removeprefix("memory, "): round(figure.value, 1)
        for figure in figures
        if figure.value is not None
    }


def tables_bytes() -> int:
    """Return the bytes of the tables of corpus and jobs with their indexes, of all workspaces."""
    models = [*apps.get_app_config("search").get_models(), *apps.get_app_config("ingest").get_models()]
    return _relation_bytes([model._meta.db_table for model in models])


def _relation_bytes(names: Sequence[str]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_BYTES, [list(names)])
        return int(cursor.fetchone()[0])
