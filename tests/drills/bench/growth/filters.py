"""Measurement of filters on metadata and of facets in one large workspace of short documents."""

import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from ingest.cli.scratch import scratch_workspace
from kebab.cli.errors import CliError
from kebab.identity.models import Workspace
from kebab.people.operator import command_line_access
from search.api.query import run_search
from search.corpus import ensure_source, ensure_version
from search.evaluation.results import Latencies
from search.mirror import local_mirrors
from search.mirror.sync.sync import rebuild_mirror
from search.models import Chunk, Document
from search.retrieval.query.metadata import filter_values
from tests.drills.bench.budgets.figures import Figure
from tests.drills.bench.budgets.search import WARM_UP, heading_queries
from tests.drills.bench.growth.texts import GrowingText

_SEED = 1
_BATCH = 2_000
_TEAMS, _STATUSES, _YEARS = 20, ("open", "review", "closed"), range(2000, 2027)
_MOST = 1.5
_PLAIN = "no filter"
_VARIANTS: Mapping[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    _PLAIN: ({}, ()),
    "equal, a third": ({"status": "open"}, ()),
    "equal, a twentieth": ({"team": "team-7"}, ()),
    "range of numbers": ({"year": {"gte": 2010, "lt": 2020}}, ()),
    "range of dates": ({"released": {"gte": "2015-06-01"}}, ()),
    "exists": ({"reviewer": {"exists": True}}, ()),
    "either of two": ({"$or": [{"team": "team-3"}, {"year": 2026}]}, ()),
    "five facets": ({}, ("source", "lang", "metadata.team", "metadata.status", "metadata.year")),
    "filter and facets": ({"status": "open"}, ("metadata.team", "metadata.year")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Inputs of the measurement."""

    folder: Path
    documents: int
    queries: int


def measure_filters(inputs: Filters, say: Callable[[str], None]) -> dict[str, Any]:
    """Return figures for each filter, by turns in lexical mode: vectors cost the same with and without one.

    The first use of a filter lists its documents, which are kept until the workspace changes; it counts
    on its own.
    """
    with scratch_workspace("bench-filters") as workspace:
        say(f"Writing {inputs.documents:,} documents ...")
        _fill(workspace, GrowingText(inputs.folder), inputs.documents)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        say("Building the mirror ...")
        rebuild_mirror(local_mirrors.mirror_files(workspace.pk), workspace.pk)
        queries = heading_queries(workspace, inputs.queries)
        say("Searching ...")
        first = {name: _search_s(workspace, queries[0], name) for name in _VARIANTS}
        for text in queries[:WARM_UP]:
            _search_s(workspace, text, _PLAIN)
        seconds: dict[str, list[float]] = {name: [] for name in _VARIANTS}
        for number, text in enumerate(queries):
            for name in _begin_at(number):
                seconds[name].append(_search_s(workspace, text, name))
    plain = Latencies.of(seconds[_PLAIN])
    figures = [figure for name in _VARIANTS for figure in _figures(name, first[name], seconds[name], plain)]
    return {
        "figures": [figure.as_json() for figure in figures],
        "documents": inputs.documents,
        "queries": len(queries),
    }


def _begin_at(number: int) -> list[str]:
    """Return the variants, beginning with another one each time: the first reads the words of the query."""
    names = list(_VARIANTS)
    first = number % len(names)
    return names[first:] + names[:first]


def _figures(name: str, first_s: float, seconds: list[float], plain: Latencies) -> Iterator[Figure]:
    found = Latencies.of(seconds)
    yield Figure(name=f"{name}, first use", value=first_s * 1000, unit="ms")
    yield Figure(name=f"{name}, p50", value=found.p50_ms, unit="ms")
    yield Figure(name=f"{name}, p95", value=found.p95_ms, unit="ms")
    if name != _PLAIN:
        times = found.p95_ms / plain.p95_ms
        yield Figure(name=f"{name}, p95", value=times, unit="times without", at_most=_MOST)


def _search_s(workspace: Workspace, text: str, name: str) -> float:
    """Return the seconds of a search as the API runs it."""
    metadata, facets = _VARIANTS[name]
    given: dict[str, Any] = {"q": text, "mode": "lexical"} | ({"facets": list(facets)} if facets else {})
    access = command_line_access(workspace)
    started = time.perf_counter()
    result = run_search(access, given, {"metadata": metadata} if metadata else {})
    elapsed = time.perf_counter() - started
    if facets and result.facets is None:
        raise CliError(f"The facets of {text!r} were not counted in time.", code="bench_failed")
    return elapsed


def _fill(workspace: Workspace, text: GrowingText, number: int) -> None:
    """Write documents of one paragraph each past the pipeline, which would take hours for a million."""
    source = ensure_source(workspace, "bench", kind="upload")
    version = ensure_version(source, "")
    drawn, now = random.Random(_SEED), timezone.now()
    for start in range(0, number, _BATCH):
        documents, chunks = [], []
        for each in range(start, min(number, start + _BATCH)):
            title, paragraph = text.passage(each)
            metadata = _metadata(drawn)
            documents.append(
                Document(
                    workspace=workspace,
                    doc_id=uuid.UUID(int=drawn.getrandbits(128)),
                    source=source,
                    version=version,
                    path=f"{each // 1000:04}/{each:07}.md",
                    title=title,
                    lang="en",
                    mime="text/markdown",
                    size_bytes=len(paragraph),
                    content_hash=f"{each:064x}",
                    parser_version="bench",
                    chunker_version="bench",
                    indexed_at=now,
                    metadata=metadata,
                    filter_values=filter_values(metadata),
                )
            )
            chunks.append(
                Chunk(
                    workspace=workspace,
                    chunk_id=uuid.UUID(int=drawn.getrandbits(128)),
                    ordinal=0,
                    heading_path=[title],
                    breadcrumb=title,
                    text=paragraph,
                    source_spans=[{"kind": "line", "start": 1, "end": 9}],
                    token_count=len(paragraph) // 4,
                    embed_hash=uuid.UUID(int=drawn.getrandbits(128)),
                )
            )
        with transaction.atomic():
            for chunk, document in zip(chunks, Document.objects.bulk_create(documents), strict=True):
                chunk.document = document
            Chunk.objects.bulk_create(chunks)


def _metadata(drawn: random.Random) -> dict[str, Any]:
    year = drawn.choice(_YEARS)
    reviewer = {"reviewer": f"person-{drawn.randrange(500)}"} if drawn.random() < 0.4 else {}
    return {
        "team": f"team-{drawn.randrange(_TEAMS)}",
        "status": drawn.choice(_STATUSES),
        "year": year,
        "released": f"{year}-{drawn.randrange(1, 13):02}-{drawn.randrange(1, 29):02}",
        "price": round(drawn.uniform(1, 1000), 2),
        **reviewer,
    }
