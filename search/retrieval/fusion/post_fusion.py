"""Optional stages after fusion: age, boosts, grouping, per-file cap, rerank, cutoff, another order, pins."""

import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import takewhile
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from search.retrieval.fusion.ranking import RankedEntry
from search.retrieval.fusion.reorder import (
    PinnedDocument,
    SortKeys,
    apply_boosts,
    lift_pinned,
    lower_old,
    sort_entries,
)
from search.retrieval.fusion.rerank import NOT_CONFIGURED, Reranker, rerank_entries
from search.retrieval.fusion.scores import bm25_magnitudes
from search.retrieval.query.rules import Boost
from search.retrieval.types import MAX_K as LONGEST
from search.retrieval.types import Group, Mode, RerankOutcome, SearchQuery, Sort

T = TypeVar("T")

#: Number of fused candidates considered, and number kept of one document before a rerank.
TOP_M = 60
PRE_RERANK_MAX_PER_FILE = 5
DEFAULT_HALF_LIFE_DAYS = 180


def cap_per_file(candidates: Sequence[T], *, file_of: Callable[[T], Hashable], cap: int) -> list[T]:
    """Keep the first `cap` candidates of each file, in order; a cap of 0 or less keeps all."""
    if cap <= 0:
        return list(candidates)
    counts: Counter[Hashable] = Counter()
    kept: list[T] = []
    for candidate in candidates:
        counts[file_of(candidate)] += 1
        if counts[file_of(candidate)] <= cap:
            kept.append(candidate)
    return kept


#: The shares of a document's best candidates in its score.
SHARES = (1.0, 0.1, 0.01)
# Candidates considered for each document of a list of documents, and the least number.
_PER_DOCUMENT = 3
_LEAST_GROUPED = 100


def group_by_document(
    candidates: Sequence[RankedEntry], document_of: Mapping[str, Hashable], *, are_rescored: bool = False
) -> list[RankedEntry]:
    """Return each document by its best candidate, the others as its sections; best document first.

    A document is only related if all of its candidates are. Its score is the best candidate's, and a little
    for what the next two exceed the last candidate of the list by: of bm25 where words alone were searched,
    otherwise of the fused scores, which age or boosts may have changed (`are_rescored`). More for further
    passages makes long documents win: docs/measurements/documents.md. A name lifts a document once: its
    further passages are worth at most the best one that doesn't have it.
    """
    passages: dict[Hashable, list[tuple[RankedEntry, float]]] = {}
    scores = np.array([candidate.score for candidate in candidates])
    is_bm25 = bool(candidates) and candidates[0].retrieval.method is Mode.LEXICAL
    has_tiers = not (is_bm25 or are_rescored) and all(map(_is_found_by_words, candidates))
    if has_tiers:
        is_bm25 = True
        scores = np.array([candidate.retrieval.lexical_score for candidate in candidates], float)
    worths = bm25_magnitudes(scores) if is_bm25 else scores
    for candidate, worth in zip(candidates, worths.tolist(), strict=True):
        passages.setdefault(document_of[candidate.chunk_id], []).append((candidate, worth))
    least = float(worths.min(initial=np.inf))
    is_named = np.array([candidate.retrieval.exact_rank is not None for candidate in candidates], bool)
    most = float(worths[~is_named].max(initial=least)) if is_named.any() else np.inf
    documents = []
    for found in passages.values():
        best, *others = (entry for entry, _ in found)
        first, *further = (worth for _, worth in found)
        gained = (
            share * (min(worth, most) - least) for share, worth in zip(SHARES[1:], further, strict=False)
        )
        total = first + sum(gained)
        score = total / (1 + total) if is_bm25 else total / sum(SHARES)
        documents.append(replace(best, score=score, sections=tuple(others)))
    return sorted(
        documents,
        key=lambda document: (
            document.retrieval.related,
            has_tiers and document.retrieval.tier == "some",
            -document.score,
        ),
    )


def _is_found_by_words(candidate: RankedEntry) -> bool:
    """Return whether neither vectors nor names nor age have a part in the score."""
    detail = candidate.retrieval
    is_by_words = detail.lexical_rank is not None and detail.vector_score is None
    return is_by_words and detail.exact_rank is None and not detail.outdated


FLOOR = 0.25
TOP_SHARE = 0.5
TOP_DISTANCE = 0.25
MIN_K = 2
MAX_K = 8


def smart_cutoff(scores: Sequence[float]) -> int:
    """Return the number of reranked hits to keep; `scores` are in [0, 1], descending.

    A top score below the floor (0.25) keeps the top hit alone. Else the threshold is `max(floor, min(top ×
    0.5, top − 0.25))`; the first two hits need only the floor. The list ends before the first hit below its
    threshold, and after the eighth.
    """
    if not scores or scores[0] < FLOOR:
        return len(scores[:1])
    threshold = max(FLOOR, min(scores[0] * TOP_SHARE, scores[0] - TOP_DISTANCE))
    needed = [FLOOR] * MIN_K + [threshold] * (MAX_K - MIN_K)
    passed = takewhile(lambda pair: pair[0] >= pair[1], zip(scores, needed, strict=False))
    return sum(1 for _ in passed)


def plain_cutoff(n_hits: int) -> int:
    """Return the number of hits to keep without rerank scores: the first eight.

    The thresholds of `smart_cutoff` need the scale of rerank scores.
    """
    return min(n_hits, MAX_K)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """The stages that follow the fusion of a query."""

    mode: Mode = Mode.HYBRID
    #: Whether the list is one of documents.
    are_documents: bool = False
    #: Maximum number of candidates of one document; 0 or less: unlimited.
    per_file_cap: int = 0
    #: Whether those above the cap follow the others.
    fills_up: bool = False
    rerank: bool = False
    cutoff: bool = False
    #: The share of a score that age takes, and the age at which it takes half of that.
    recency: float = 0.0
    half_life: timedelta = timedelta(days=DEFAULT_HALF_LIFE_DAYS)
    sort: Sort = Sort.RELEVANCE
    boosts: tuple[Boost, ...] = ()
    #: In their order; none in a list that is sorted otherwise.
    pinned: tuple[PinnedDocument, ...] = ()
    #: Whether as many candidates are considered as a list may have.
    are_widest: bool = False

    @classmethod
    def of(
        cls,
        query: SearchQuery,
        pre_rerank_max_per_file: int,
        *,
        recency: float = 0.0,
        half_life_days: int = DEFAULT_HALF_LIFE_DAYS,
        boosts: tuple[Boost, ...] = (),
    ) -> "Stages":
        """Return the stages that `query` requests; a rerank or cutoff implies a cap.

        `recency` is that of a query which has none of its own.
        """
        implied = pre_rerank_max_per_file if query.rerank or query.cutoff else 0
        cap = implied if query.per_file_cap is None else query.per_file_cap
        return cls(
            mode=query.mode,
            are_documents=query.group is Group.DOCUMENT,
            per_file_cap=cap,
            fills_up=query.fills_up,
            rerank=query.rerank,
            cutoff=query.cutoff,
            recency=recency if query.recency is None else query.recency,
            half_life=timedelta(days=half_life_days),
            sort=query.sort,
            boosts=boosts,
        )

    @property
    def are_any(self) -> bool:
        """Return whether any stage may change the fused list."""
        needed = self.need_sort_keys or self.are_documents or self.rerank or self.cutoff
        return needed or self.per_file_cap > 0 or bool(self.pinned)

    @property
    def need_sort_keys(self) -> bool:
        """Return whether a stage reads `SortKeys`."""
        return self.recency > 0 or self.sort is not Sort.RELEVANCE or bool(self.boosts)

    @property
    def most_per_document(self) -> int:
        """Return the most entries of one document; 0 or less: unlimited."""
        return 1 if self.are_documents else self.per_file_cap

    def window(self, k: int) -> int:
        """Return the number of fused candidates considered for `k` hits.

        A rerank considers the first 60 whatever `k` is, so that its cost has a bound and a shorter list is
        the start of a longer one; later candidates are not in the list. Another order than that of relevance
        is one of as many hits as a list may have.
        """
        if self.sort is not Sort.RELEVANCE or self.are_widest:
            return LONGEST
        if self.rerank:
            return TOP_M
        if self.are_documents:
            return max(_PER_DOCUMENT * k, _LEAST_GROUPED)
        if self.recency > 0 or self.boosts:
            return max(k, _LEAST_GROUPED)
        return max(k, TOP_M) if self.are_any else k


@dataclass(frozen=True, slots=True, kw_only=True)
class PostFusionResult:
    """The list after the stages, and the chunks that each stage removed."""

    #: Ranks 1, 2, 3, …
    entries: tuple[RankedEntry, ...]
    #: None: no rerank was requested.
    rerank: RerankOutcome | None
    #: Chunk ids, in fused order.
    over_cap: tuple[str, ...]
    #: Chunk ids, in the order of the list that was cut.
    below_cutoff: tuple[str, ...]
    #: By stage that ran: `recency`, `boost`, `group`, `cap`, `rerank`, `cutoff`, `sort`, `pin`.
    timings_ms: Mapping[str, float]
    #: Whether all candidates were still there when the stages read them.
    is_whole: bool = True
    #: Whether there are candidates outside the window.
    is_cut: bool = False


def apply_stages(
    entries: Sequence[RankedEntry],
    stages: Stages,
    *,
    query: str,
    document_of: Mapping[str, Hashable],
    passages_of: Callable[[Sequence[str]], Mapping[str, str]],
    reranker: Reranker | None,
    sort_keys: Mapping[str, SortKeys] = MappingProxyType({}),
    today: datetime | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> PostFusionResult:
    """Apply the stages to `entries`, the fused candidates in `stages.window`, best first.

    `document_of` identifies each candidate's document, `sort_keys` has its title and date where a stage needs
    them; ages are counted up to `today`. `passages_of` returns the texts for the reranker by
    chunk id; a candidate without one was deleted meanwhile and is left out. `query` is the rerank channel.
    """
    timings: dict[str, float] = {}
    entries = _reorder(
        entries, stages, document_of, sort_keys, today, lambda stage: _measure(stage, timings, clock)
    )
    kept: Sequence[RankedEntry] = entries
    outcome, is_whole = None, True
    if stages.per_file_cap > 0:
        with _measure("cap", timings, clock):
            kept = cap_per_file(
                entries, file_of=lambda entry: document_of[entry.chunk_id], cap=stages.per_file_cap
            )
    over_cap = _removed_ids(entries, kept)
    if stages.fills_up and over_cap:
        capped = {entry.chunk_id for entry in kept}
        kept = sorted(entries, key=lambda entry: (entry.retrieval.related, entry.chunk_id not in capped))
    if stages.rerank:
        with _measure("rerank", timings, clock):
            reranked, outcome = _rerank(kept, passages_of, query, reranker)
            is_whole = len(reranked) == len(kept)
            kept = _lift_above_floor(reranked)
    n_kept = len(kept)
    if stages.cutoff:
        with _measure("cutoff", timings, clock):
            n_kept = _cutoff_size(kept, outcome)
    shown: Sequence[RankedEntry] = kept[:n_kept]
    if stages.sort is not Sort.RELEVANCE:
        with _measure("sort", timings, clock):
            shown = sort_entries(shown, sort_keys, stages.sort)
    if stages.pinned:
        with _measure("pin", timings, clock):
            shown = lift_pinned(
                shown, stages.pinned, document_of, stages.mode, are_documents=stages.are_documents
            )
    return PostFusionResult(
        entries=_renumber(shown),
        rerank=outcome,
        over_cap=over_cap,
        below_cutoff=tuple(entry.chunk_id for entry in kept[n_kept:]),
        timings_ms=timings,
        is_whole=is_whole,
    )


def _reorder(
    entries: Sequence[RankedEntry],
    stages: Stages,
    document_of: Mapping[str, Hashable],
    sort_keys: Mapping[str, SortKeys],
    today: datetime | None,
    measure: Callable[[str], AbstractContextManager[None]],
) -> Sequence[RankedEntry]:
    """Return the candidates in the order of the stages before the cap, or their documents."""
    if stages.recency > 0 and today is not None:
        with measure("recency"):
            entries = lower_old(
                entries, sort_keys, now=today, share=stages.recency, half_life=stages.half_life
            )
    if stages.boosts:
        with measure("boost"):
            entries = apply_boosts(entries, sort_keys, stages.boosts)
    if stages.are_documents:
        with measure("group"):
            are_rescored = stages.recency > 0 or bool(stages.boosts)
            entries = group_by_document(entries, document_of, are_rescored=are_rescored)
    return entries


def _rerank(
    entries: Sequence[RankedEntry],
    passages_of: Callable[[Sequence[str]], Mapping[str, str]],
    query: str,
    reranker: Reranker | None,
) -> tuple[tuple[RankedEntry, ...], RerankOutcome]:
    if reranker is None:
        return tuple(entries), NOT_CONFIGURED
    passages = passages_of([entry.chunk_id for entry in entries])
    remaining = [entry for entry in entries if entry.chunk_id in passages]
    return rerank_entries(remaining, [passages[entry.chunk_id] for entry in remaining], query, reranker)


def _lift_above_floor(entries: Sequence[RankedEntry]) -> list[RankedEntry]:
    """Return related entries last, save those that the reranker finds relevant."""
    for detail in (entry.retrieval for entry in entries):
        detail.related = detail.related and (detail.rerank_score or 0.0) < FLOOR
    return sorted(entries, key=lambda entry: entry.retrieval.related)


def _cutoff_size(entries: Sequence[RankedEntry], outcome: RerankOutcome | None) -> int:
    if outcome is None or outcome.status == "fallback":
        return plain_cutoff(len(entries))
    return smart_cutoff([entry.score for entry in entries])


def _removed_ids(before: Sequence[RankedEntry], after: Sequence[RankedEntry]) -> tuple[str, ...]:
    remaining = {entry.chunk_id for entry in after}
    return tuple(entry.chunk_id for entry in before if entry.chunk_id not in remaining)


def _renumber(entries: Sequence[RankedEntry]) -> tuple[RankedEntry, ...]:
    return tuple(
        entry if entry.rank == rank else replace(entry, rank=rank)
        for rank, entry in enumerate(entries, start=1)
    )


@contextmanager
def _measure(stage: str, timings_ms: dict[str, float], clock: Callable[[], float]) -> Iterator[None]:
    started = clock()
    yield
    timings_ms[stage] = (clock() - started) * 1000
