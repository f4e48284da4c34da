"""Ranking pipeline: run the legs, fuse their lists, order and trim the result."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field

from search.retrieval.fusion.convex import VECTOR_SHARE, ScoredList, convex_combination
from search.retrieval.fusion.cross_scores import KnownScores, score_candidates
from search.retrieval.fusion.rrf import RRF_K, FusedChunk, RankedList, reciprocal_rank_fusion
from search.retrieval.fusion.run_legs import Leg, LegName, LegResults, ReadBack, run_legs
from search.retrieval.fusion.score_scales import bm25_magnitude
from search.retrieval.types import Candidate, Fusion, Mode, RetrievalDetail

_LEG_ORDER: tuple[LegName, ...] = ("lexical", "vector", "exact")


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedEntry:
    """A chunk with its rank, from 1, and the score that orders the list."""

    rank: int
    chunk_id: str
    score: float
    retrieval: RetrievalDetail


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The ranked list and the data behind it. Nothing in it is hidden from the caller."""

    #: The first k.
    entries: tuple[RankedEntry, ...]
    #: The whole list, for cursors, caps and `why_not`.
    fused: tuple[FusedChunk, ...]
    #: Each leg's list before fusion; a leg that took no part is not in it.
    lists: Mapping[LegName, tuple[Candidate, ...]]
    #: Legs that were stopped or took no part: lexical, then vector, then exact.
    degraded: tuple[LegName, ...]
    #: By stage: each leg, `read_back`, `scoring` under convex fusion, `fusion`.
    timings_ms: Mapping[str, float]
    #: Where scores were fused, the known scores of the candidates by leg; else empty.
    scores: Mapping[LegName, Mapping[str, float]] = field(default_factory=dict)


def rank_candidates(
    mode: Mode,
    legs: Sequence[Leg],
    read_back: ReadBack,
    *,
    k: int,
    executor: Executor | None = None,
    fusion: Fusion = Fusion.RRF,
    k_rrf: int = RRF_K,
    vector_share: float = VECTOR_SHARE,
    clock: Callable[[], float] = time.perf_counter,
) -> Ranking:
    """Rank the candidates of the legs: in the leg's order in a single mode, fused in hybrid.

    The legs run concurrently in `executor`; in the calling thread if there is no executor or the leg requires
    it. Errors of a leg other than EmbedderUnavailable and LegTimeout are raised. `clock` returns seconds.
    Raises: ValueError for a single mode with other than one leg.
    """
    if mode is not Mode.HYBRID and len(legs) != 1:
        raise ValueError(f"Mode {mode} ranks one leg's list, not {len(legs)}; ask for hybrid to fuse them.")
    gathered = run_legs(legs, read_back, k=k, executor=executor, clock=clock)
    timings = dict(gathered.timings_ms)
    started = clock()
    scores: KnownScores = {}
    if mode is Mode.HYBRID and fusion is Fusion.CONVEX:
        scores = score_candidates(legs, gathered)
        scoring_started, started = started, clock()
        timings["scoring"] = (started - scoring_started) * 1000
    lists = _participating_lists(legs, gathered)
    is_hybrid = mode is Mode.HYBRID
    fused = _fuse(legs, lists, scores, k_rrf, vector_share) if is_hybrid else _keep_leg_order(lists)
    entries = _build_entries(mode, fused[:k], lists)
    timings["fusion"] = (clock() - started) * 1000
    return Ranking(
        entries=entries,
        fused=tuple(fused),
        lists=lists,
        degraded=_degraded_legs(gathered),
        timings_ms=timings,
        scores=scores,
    )


def _participating_lists(legs: Sequence[Leg], gathered: LegResults) -> dict[LegName, tuple[Candidate, ...]]:
    lists = {name: found.candidates for name, found in gathered.lists.items() if found.candidates is not None}
    absent = {leg.name for leg in legs if leg.is_skipped_when_empty and not lists.get(leg.name)}
    return {name: candidates for name, candidates in lists.items() if name not in absent}


def _degraded_legs(gathered: LegResults) -> tuple[LegName, ...]:
    return tuple(name for name in _LEG_ORDER if name in gathered.lists and gathered.lists[name].is_degraded)


def _fuse(
    legs: Sequence[Leg],
    lists: Mapping[LegName, tuple[Candidate, ...]],
    scores: Mapping[LegName, Mapping[str, float]],
    k_rrf: int,
    vector_share: float,
) -> list[FusedChunk]:
    """Fuse by the scores, or by the ranks if there are no scores."""
    ranked = {
        leg.name: RankedList(
            name=leg.name, weight=leg.weight, chunk_ids=[found.chunk_id for found in lists[leg.name]]
        )
        for leg in legs
        if leg.name in lists
    }
    if not scores:
        return reciprocal_rank_fusion(list(ranked.values()), k_rrf)
    scored = [_scored_list(ranked.pop(name), known) for name, known in scores.items()]
    vectors_of = next((leg.vectors for leg in legs if leg.name in scores and leg.vectors is not None), None)
    return convex_combination(scored, list(ranked.values()), k_rrf, vectors_of, vector_share=vector_share)


def _scored_list(ranked: RankedList, known: Mapping[str, float]) -> ScoredList:
    # The public lexical score squeezes bm25 below 1, where good and best scores hardly differ.
    is_lexical = ranked.name == "lexical"
    scores = {id_: bm25_magnitude(score) for id_, score in known.items()} if is_lexical else known
    return ScoredList(name=ranked.name, weight=ranked.weight, chunk_ids=ranked.chunk_ids, scores=scores)


def _keep_leg_order(lists: Mapping[LegName, tuple[Candidate, ...]]) -> list[FusedChunk]:
    """Return the list of the only leg in its order; its score is the fused score."""
    return [
        FusedChunk(chunk_id=candidate.chunk_id, score=candidate.score, ranks={name: rank})
        for name, candidates in lists.items()
        for rank, candidate in enumerate(candidates, start=1)
    ]


def _build_entries(
    mode: Mode, fused: Sequence[FusedChunk], lists: Mapping[LegName, tuple[Candidate, ...]]
) -> tuple[RankedEntry, ...]:
    return tuple(
        RankedEntry(
            rank=rank,
            chunk_id=found.chunk_id,
            score=found.score,
            retrieval=_retrieval_detail(mode, found, lists),
        )
        for rank, found in enumerate(fused, start=1)
    )


def _retrieval_detail(
    mode: Mode, fused: FusedChunk, lists: Mapping[LegName, tuple[Candidate, ...]]
) -> RetrievalDetail:
    found = {name: lists[name][fused.ranks[name] - 1] for name in lists if name in fused.ranks}
    lexical, vector = found.get("lexical"), found.get("vector")
    return RetrievalDetail(
        method=mode,
        fusion_score=fused.score,
        lexical_score=None if lexical is None else lexical.score,
        lexical_rank=fused.ranks.get("lexical"),
        vector_score=None if vector is None else vector.score,
        vector_rank=fused.ranks.get("vector"),
        exact_rank=fused.ranks.get("exact"),
        tier=None if lexical is None else lexical.tier,
    )
