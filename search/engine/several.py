"""Search over several workspaces: each is searched by itself, and their lists are merged by rank.

A quarter of the time of a search goes into the hits that it shows. So each workspace gives the head of its
list first, as deep as the merged list shows if all find as much; one whose further hits may belong into that
list is searched again.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Final

from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from kebab.tenancy.current_workspace import acting_in
from search.engine.search import milliseconds_since, search
from search.engine.time_limit import limited_search
from search.retrieval.query.titles import title_key
from search.retrieval.types import SearchHit, SearchQuery, SearchResult, Sort

_Key = tuple[Any, ...]

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

    def count_hits(self, workspace: Workspace) -> int:
        """Return the number of hits in the list that are of `workspace`."""
        return sum(each.workspace.pk == workspace.pk for each in self.hits)


@limited_search
def search_several(
    accesses: Sequence[Access],
    build_query: Callable[[Access], SearchQuery],
    *,
    k: int,
    per_workspace: int,
) -> SeveralResults:
    """Search the workspaces of `accesses`, and return the first `k` hits, at most `per_workspace` of one.

    The queries have the same order of hits.

    Scores of different workspaces can't be compared: a word is rare or common within one. So lists are merged
    by rank, as by reciprocal rank fusion. Of equal ranks the hit more similar to the query is first; related
    hits are last. Lists sorted by date or title are merged by that.
    Raises InvalidQuery, InvalidFilter.
    """
    started = time.perf_counter()
    queries = [build_query(access) for access in accesses]
    limits = [min(query.k, per_workspace) for query in queries]
    depth = ceil(k / max(1, len(accesses))) + 1
    sort = queries[0].sort if queries else Sort.RELEVANCE
    results = [
        _search_one(access, replace(query, k=min(limit, depth)))
        for access, query, limit in zip(accesses, queries, limits, strict=True)
    ]
    merged = _merge(accesses, results, sort)
    last = _ORDERS[sort](merged[k - 1].hit) if len(merged) >= k else None
    for place, (query, limit) in enumerate(zip(queries, limits, strict=True)):
        result = results[place]
        if result is not None and depth < limit and _may_go_on(result, depth, last, sort):
            results[place] = _search_one(accesses[place], replace(query, k=limit))
    return SeveralResults(
        hits=tuple(_merge(accesses, results, sort)[:k]),
        by_workspace=tuple(
            (access, result) for access, result in zip(accesses, results, strict=True) if result is not None
        ),
        took_ms=milliseconds_since(started),
    )


def _merge(
    accesses: Sequence[Access], results: Sequence[SearchResult | None], sort: Sort
) -> list[WorkspaceHit]:
    found = [
        WorkspaceHit(workspace=access.workspace, hit=hit)
        for access, result in zip(accesses, results, strict=True)
        if result is not None
        for hit in result.hits
    ]
    return sorted(found, key=lambda each: _ORDERS[sort](each.hit))


def _may_go_on(result: SearchResult, depth: int, last: _Key | None, sort: Sort) -> bool:
    """Return whether a list of `depth` hits may go on with one that is before the `last` of all."""
    if len(result.hits) < depth:
        return False
    end = result.hits[-1]
    if last is None:
        return True
    if sort is Sort.RELEVANCE:
        return (end.related, end.rank + 1) <= last[:2]
    return _ORDERS[sort](end) <= last


def _search_one(access: Access, query: SearchQuery) -> SearchResult | None:
    """Search one workspace; return None if it was deleted meanwhile."""
    with acting_in(access.workspace.pk), suppress(Workspace.DoesNotExist):
        return search(access.workspace, query, reader=access.reader)
    return None


def _relevance(hit: SearchHit) -> _Key:
    return hit.related, hit.rank, -(hit.retrieval.vector_score or 0.0), -hit.score


# By what hits are compared, the smallest first.
_ORDERS: Final[Mapping[Sort, Callable[[SearchHit], _Key]]] = {
    Sort.RELEVANCE: _relevance,
    Sort.DATE: lambda hit: (-hit.date.timestamp(),),
    Sort.TITLE: lambda hit: (title_key(hit.title),),
}
