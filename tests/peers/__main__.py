"""`python -m tests.peers --workspace W [--queries 400] [--words 3]`."""

import argparse
import gc
import logging
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import django
from rich.console import Console

django.setup()
os.environ.setdefault("LANCEDB_LOG", "error")  # read when it is imported

from ingest.cli.bench.searching import heading_queries  # noqa: E402  Django has to be set up first
from kebab.people.models import Workspace  # noqa: E402
from kebab.people.reader import OPERATOR  # noqa: E402
from search.embedding import query_embedder  # noqa: E402
from search.engine import lexical_leg, search  # noqa: E402
from search.retrieval.filters import SearchFilters  # noqa: E402
from search.retrieval.types import Mode, SearchQuery  # noqa: E402
from search.scope import resolve_scope  # noqa: E402
from tests.peers.agreement import top_ten_agreement  # noqa: E402
from tests.peers.corpus import Corpus  # noqa: E402
from tests.peers.hybrid import lance, sql_fusion  # noqa: E402
from tests.peers.lexical import fts5, tantivy_search  # noqa: E402

_WARM_UP = 20
_console = Console(highlight=False)


def main() -> None:
    """Measure, one query at a time, and print a table: milliseconds, and times the first line of its kind."""
    parser = argparse.ArgumentParser(prog="python -m tests.peers")
    parser.add_argument("--workspace", required=True)
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--words", type=int, default=1, help="ask only for headings of so many words or more")
    options = parser.parse_args()
    logging.disable(logging.INFO)
    corpus = Corpus(Workspace.objects.named(options.workspace).get())
    headings = heading_queries(corpus.workspace, len(corpus.rows))
    queries = [heading for heading in headings if len(heading.split()) >= options.words][: options.queries]
    _console.print(f"{len(corpus.rows):,} chunks, {len(corpus.vectors):,} vectors, {len(queries)} queries")
    gc.freeze()  # the corpus in this process is not to slow down who runs in it
    _console.print(f"top ten as without shortcuts: {top_ten_agreement(corpus.workspace, queries):.3f}")
    with tempfile.TemporaryDirectory() as folder:
        _measure_lexical(corpus, queries, Path(folder))
        _measure_hybrid(corpus, queries, Path(folder))


def _measure_lexical(corpus: Corpus, queries: Sequence[str], folder: Path) -> None:
    scope = resolve_scope(corpus.workspace, SearchFilters(), OPERATOR)
    asked = {
        "Kebab, lexical, whole hits": lambda query: _search(corpus, query, Mode.LEXICAL),
        "Kebab, lexical leg, top 100": lambda query: lexical_leg(corpus.workspace, scope, query).search(100),
        "FTS5, OR by bm25, ids": fts5(corpus, folder),
        "Tantivy, OR, ids": tantivy_search(corpus, folder),
    }
    _print({name: _timed(queries, ask) for name, ask in asked.items()})


def _measure_hybrid(corpus: Corpus, queries: Sequence[str], folder: Path) -> None:
    embedder = query_embedder()
    assert embedder is not None
    vectors = {query: embedder.embed_query(query) for query in queries}
    by_sql, by_lance = sql_fusion(corpus, folder), lance(corpus, folder)
    asked = {
        "Kebab, hybrid, whole hits": lambda query: _search(corpus, query, Mode.HYBRID),
        "Kebab, vector, whole hits": lambda query: _search(corpus, query, Mode.VECTOR),
        "SQL fusion, ids, vector given": lambda query: by_sql(query, vectors[query]),
        "LanceDB hybrid, ids, vector given": lambda query: by_lance(query, vectors[query]),
    }
    _print({name: _timed(queries, ask) for name, ask in asked.items()})


def _search(corpus: Corpus, query: str, mode: Mode) -> object:
    return search(corpus.workspace, SearchQuery(text=query, mode=mode), reader=OPERATOR)


def _timed(queries: Sequence[str], ask: Callable[[str], object]) -> list[float]:
    for query in queries[:_WARM_UP]:
        ask(query)
    milliseconds = []
    for query in queries:
        started = time.perf_counter()
        ask(query)
        milliseconds.append((time.perf_counter() - started) * 1000)
    return sorted(milliseconds)


def _print(measured: dict[str, list[float]]) -> None:
    base = statistics.median(next(iter(measured.values())))
    for name, times in measured.items():
        p50, p95 = statistics.median(times), times[int(len(times) * 0.95)]
        _console.print(f"{name:36} p50 {p50:7.2f} ms  p95 {p95:7.2f} ms  {p50 / base:6.2f} x")


if __name__ == "__main__":
    main()
