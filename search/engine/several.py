"""Search over several workspaces: each is searched by itself, and their lists are merged.

A quarter of the time of a search goes into the snippets of its hits, which are made for the merged list only.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from operator import attrgetter
from typing import Any
from uuid import UUID

import numpy as np

from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from kebab.tenancy.current_workspace import acting_in
from search.engine.hits import LateSnippets
from search.engine.search import milliseconds_since, search
from search.engine.time_limit import limited_search
from search.models import Document
from search.retrieval.fusion.floor import WORD_SHARE
from search.retrieval.fusion.reorder import SortKeys
from search.retrieval.fusion.scores import bm25_magnitudes
from search.retrieval.types import RetrievalDetail, SearchHit, SearchQuery, SearchResult, Sort

_Key = tuple[Any, ...]

#: The most workspaces of one search.
MAX_WORKSPACES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceHit:
    """A hit and its workspace; its rank is that in the list of the workspace."""

    workspace: Workspace
    hit: SearchHit
    #: By what hits are compared, the smallest first.
    place: _Key


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

    Lists by relevance are merged by the evidence of their hits, which is comparable between workspaces: the
    rerank score where all have one, else cosine and words as in the floor, with bm25 as a share of the best
    list's first hit. Where one workspace has no cosines, or those of another model, words count alone. A hit
    stays behind those that its list has before it; related hits are last. Lists sorted by date or title are
    merged by that.
    Raises InvalidQuery, InvalidFilter.
    """
    started = time.perf_counter()
    queries = [build_query(access) for access in accesses]
    sort = queries[0].sort if queries else Sort.RELEVANCE
    snippets = {access.workspace.pk: LateSnippets() for access in accesses}
    results = [
        _search_one(access, replace(query, k=min(query.k, per_workspace)), snippets[access.workspace.pk])
        for access, query in zip(accesses, queries, strict=True)
    ]
    hits = tuple(sorted(chain(*_place_hits(accesses, results, sort)), key=attrgetter("place"))[:k])
    for each in hits:
        with acting_in(each.workspace.pk):
            snippets[each.workspace.pk][each.hit.chunk_id](each.hit)
    if sort is Sort.RELEVANCE:
        for each, score in zip(hits, accumulate([each.hit.score for each in hits], min), strict=True):
            each.hit.score = score
    return SeveralResults(
        hits=hits,
        by_workspace=tuple(
            (access, result) for access, result in zip(accesses, results, strict=True) if result is not None
        ),
        took_ms=milliseconds_since(started),
    )


def _place_hits(
    accesses: Sequence[Access], results: Sequence[SearchResult | None], sort: Sort
) -> list[list[WorkspaceHit]]:
    """Return the hits of each workspace in the order of its list, with places to merge them by."""
    found = [() if result is None else result.hits for result in results]
    if sort is Sort.RELEVANCE:
        places = _places_by_evidence(found)
    else:
        places = [_sorted_places(access, hits, sort) for access, hits in zip(accesses, found, strict=True)]
    return [
        [
            WorkspaceHit(workspace=access.workspace, hit=hit, place=place)
            for hit, place in zip(hits, of_list, strict=True)
        ]
        for access, hits, of_list in zip(accesses, found, places, strict=True)
    ]


def _places_by_evidence(found: Sequence[Sequence[SearchHit]]) -> list[list[_Key]]:
    details = [[hit.retrieval for hit in hits] for hits in found]
    if all(detail.rerank_score is not None for detail in chain(*details)):
        evidence = [np.array([detail.score for detail in each]) for each in details]
    else:
        words = _word_evidence(details)
        models = {hit.embedding_model for hit in chain(*found)} - {None}
        cosines = [_cosines(each) for each in details]
        if len(models) > 1 or any(np.isnan(each).any() for each in cosines):
            cosines = [np.zeros(len(each)) for each in details]
        evidence = [WORD_SHARE * each + near for each, near in zip(words, cosines, strict=True)]
    return [
        [
            (hit.related, -value, hit.rank, -hit.score)
            for hit, value in zip(hits, np.minimum.accumulate(_lift_pinned(each, hits)).tolist(), strict=True)
        ]
        for hits, each in zip(found, evidence, strict=True)
    ]


def _word_evidence(details: Sequence[Sequence[RetrievalDetail]]) -> list[np.ndarray]:
    """Return bm25 as a share of the best first hit's, at most 1; 1 for hits with all words, or a name."""
    sums = [bm25_magnitudes(np.array([detail.lexical_score or 0.0 for detail in each])) for each in details]
    best = max((each[0] for each in sums if len(each)), default=0.0) or 1.0
    return [
        np.where(
            [detail.tier == "all" or detail.exact_rank is not None for detail in each],
            1.0,
            np.minimum(1.0, magnitudes / best),
        )
        for each, magnitudes in zip(details, sums, strict=True)
    ]


def _cosines(details: Sequence[RetrievalDetail]) -> np.ndarray:
    """Return the cosines of a list's hits; one that only words found has the least of those before it."""
    scores = [detail.vector_score for detail in details]
    cosines = 2.0 * np.array([np.nan if score is None else score for score in scores]) - 1.0
    known = cosines[~np.isnan(cosines)]
    least = np.fmin.accumulate(cosines)
    least[np.isnan(least)] = known[0] if len(known) else np.nan
    return np.where(np.isnan(cosines), least, cosines)


def _lift_pinned(evidence: np.ndarray, hits: Sequence[SearchHit]) -> np.ndarray:
    return np.where([hit.retrieval.pinned for hit in hits], np.inf, evidence)


def _sorted_places(access: Access, hits: Sequence[SearchHit], sort: Sort) -> list[_Key]:
    undated = _find_undated(access, hits)
    return [
        SortKeys(
            title=hit.title,
            dated_at=hit.date,
            source=hit.source,
            path=hit.doc_path,
            trust=hit.trust_level,
            is_dated=hit.doc_id not in undated,
        ).place(sort)
        for hit in hits
    ]


def _find_undated(access: Access, hits: Sequence[SearchHit]) -> set[str]:
    with acting_in(access.workspace.pk):
        rows = Document.objects.in_workspace(access.workspace).filter(is_dated=False)
        found = rows.filter(doc_id__in=[UUID(hex=hit.doc_id) for hit in hits])
        return {doc_id.hex for doc_id in found.values_list("doc_id", flat=True)}


def _search_one(access: Access, query: SearchQuery, snippets: LateSnippets) -> SearchResult | None:
    """Search one workspace; return None if it was deleted meanwhile."""
    with acting_in(access.workspace.pk), suppress(Workspace.DoesNotExist):
        return search(access.workspace, query, reader=access.reader, with_snippets=snippets)
    return None
