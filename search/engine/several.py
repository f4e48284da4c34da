"""Search over several workspaces: each is searched by itself, and their lists are merged by rank."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from kebab.people.access.caller import Access
from kebab.people.models import Workspace
from kebab.tenancy.current_workspace import acting_in
from search.engine.search import milliseconds_since, search
from search.retrieval.types import SearchHit, SearchQuery, SearchResult

#: The most workspaces of one search.
MAX_WORKSPACES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceHit:
    """A hit and its workspace; its rank is that in the list of the workspace."""

    workspace: Workspace
    hit: SearchHit


@dataclass(frozen=True, slots=True, kw_only=True)
class SeveralResults:
    """The results of several workspaces, in the given order, and their hits in one list, best first."""

    hits: tuple[WorkspaceHit, ...]
    by_workspace: tuple[tuple[Access, SearchResult], ...]
    took_ms: float


def search_several(
    accesses: Sequence[Access],
    build_query: Callable[[Access], SearchQuery],
    *,
    k: int,
    per_workspace: int,
) -> SeveralResults:
    """Search the workspaces of `accesses`, and return the first `k` hits, at most `per_workspace` of one.

    Scores of different workspaces can't be compared: a word is rare or common within one. So lists are merged
    by rank, as by reciprocal rank fusion. Of equal ranks the hit more similar to the query is first; related
    hits are last.
    Raises InvalidQuery, InvalidFilter.
    """
    started = time.perf_counter()
    queries = [build_query(access) for access in accesses]
    results = map(_search_one, accesses, queries)
    found = [(access, result) for access, result in zip(accesses, results, strict=True) if result is not None]
    hits = [
        WorkspaceHit(workspace=access.workspace, hit=hit)
        for access, result in found
        for hit in result.hits[:per_workspace]
    ]
    hits.sort(key=_order)
    return SeveralResults(
        hits=tuple(hits[:k]), by_workspace=tuple(found), took_ms=milliseconds_since(started)
    )


def _search_one(access: Access, query: SearchQuery) -> SearchResult | None:
    """Search one workspace; return None if it was deleted meanwhile."""
    with acting_in(access.workspace.pk), suppress(Workspace.DoesNotExist):
        return search(access.workspace, query, reader=access.reader)
    return None


def _order(found: WorkspaceHit) -> tuple[bool, int, float, float]:
    hit = found.hit
    return hit.related, hit.rank, -(hit.retrieval.vector_score or 0.0), -hit.score
