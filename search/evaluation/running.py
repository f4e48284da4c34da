"""Asking a set's queries of a workspace, through the one search that everything else uses."""

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kebab.people.models import Workspace
from kebab.people.reader import OPERATOR
from search.embedding import forget_queries
from search.engine import search
from search.models import Chunk
from search.retrieval.types import MAX_K, Fusion, Mode, SearchQuery, SearchResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What is asked, and how."""

    #: Query texts by id.
    topics: Mapping[str, str]
    #: Documents in a ranking, at most.
    depth: int
    #: The set's id of each document, by the workspace's, 32 hex digits.
    names: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeRun:
    """The answers in one mode."""

    #: The set's document ids by query, best first, each once.
    rankings: Mapping[str, Sequence[str]]
    #: What each query took.
    seconds: Sequence[float]
    #: For how many queries each leg was stopped or took no part.
    degraded: Mapping[str, int]
    index_version: str


def ask_all(
    workspace: Workspace,
    asking: Asking,
    mode: Mode,
    *,
    fusion: Fusion | None = None,
    advance: Callable[[], None] = lambda: None,
) -> ModeRun:
    """Ask one query after the other in `mode`; a document stands where its best chunk does.

    `fusion` is the workspace's unless given; `advance` is called after each. Raises SearchError.
    """
    # Else a mode would find its queries embedded by the one before.
    forget_queries()
    rankings: dict[str, Sequence[str]] = {}
    seconds: list[float] = []
    degraded: Counter[str] = Counter()
    version = ""
    k = _hits_wanted(workspace, asking.depth)
    for query_id, text in asking.topics.items():
        query = SearchQuery(text=text, mode=mode, fusion=fusion, k=k)
        started = time.perf_counter()
        result = search(workspace, query, reader=OPERATOR)
        seconds.append(time.perf_counter() - started)
        rankings[query_id] = _documents(result, asking)
        degraded.update(result.degraded)
        version = result.index_version
        advance()
    return ModeRun(rankings=rankings, seconds=seconds, degraded=dict(degraded), index_version=version)


def _hits_wanted(workspace: Workspace, depth: int) -> int:
    """Give how many chunks to ask for so that, on average, `depth` documents are among them."""
    chunks = Chunk.objects.in_workspace(workspace)
    documents = chunks.values("document").distinct().count()
    return min(MAX_K, depth * math.ceil(chunks.count() / max(1, documents)))


def _documents(result: SearchResult, asking: Asking) -> list[str]:
    found = dict.fromkeys(asking.names[hit.doc_id] for hit in result.hits)
    return list(found)[: asking.depth]
