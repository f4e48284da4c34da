"""Ranking of candidates: run the legs, fuse their lists, order the result."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from search.retrieval.fusion.legs import (
    ID,
    TIERS,
    CheckVisible,
    Leg,
    LegName,
    LegResult,
    LegResults,
    pack_ids,
    run_legs,
    unpack_ids,
)
from search.retrieval.fusion.scores import (
    LANGUAGE_BONUS,
    RRF_K,
    VECTOR_SHARE,
    bm25_magnitudes,
    convex_combination,
    reciprocal_rank_fusion,
)
from search.retrieval.query.exact import ALONE_WEIGHT
from search.retrieval.types import Fusion, Mode, RetrievalDetail


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """`m` chunks with their ranks and scores by leg."""

    #: (m,) ID, ascending.
    ids: np.ndarray
    #: By leg: (m,) int64 ranks, from 1; 0 for a chunk that the leg did not find.
    ranks: Mapping[LegName, np.ndarray]
    #: By leg: (m,) float64 in [0, 1]; NaN for a chunk that the leg did not find.
    scores: Mapping[LegName, np.ndarray]

    @classmethod
    def of(cls, lists: Mapping[LegName, LegResult]) -> "Candidates":
        """Create the table of one or more lists."""
        ids, indexes = np.unique(np.concatenate([each.ids for each in lists.values()]), return_inverse=True)
        ranks: dict[LegName, np.ndarray] = {}
        scores: dict[LegName, np.ndarray] = {}
        start = 0
        for name, found in lists.items():
            mine = indexes[start : start + len(found.ids)]
            start += len(found.ids)
            ranks[name] = np.zeros(len(ids), np.int64)
            ranks[name][mine] = np.arange(1, len(mine) + 1)
            scores[name] = np.full(len(ids), np.nan)
            scores[name][mine] = found.scores
        return cls(ids=ids, ranks=ranks, scores=scores)

    def order(self, fused: np.ndarray) -> np.ndarray:
        """Return the indexes, best first: by score, then lexical rank (absent last), then id."""
        places = self.ranks.get("lexical")
        if places is None:
            return np.lexsort((-fused,))
        return np.lexsort((np.where(places > 0, places, len(places) + 1), -fused))


def score_by_legs(candidates: Candidates, lists: Mapping[LegName, LegResult]) -> dict[LegName, np.ndarray]:
    """Return the scores, (m,) float64, of the legs that can score: not retrieved is not irrelevant.

    A score is NaN if it is unknown. None unless two of them found something: with a single scoring leg there
    is nothing to combine, and its order is kept. A leg that was stopped is not queried again.
    """
    scoring = {name: found for name, found in lists.items() if found.can_score and len(found.ids)}
    if len(scoring) < 2:
        return {}
    known: dict[LegName, np.ndarray] = {}
    for name, found in scoring.items():
        known[name] = candidates.scores[name].copy()
        missing = np.isnan(known[name])
        if found.is_complete and missing.any():
            known[name][missing] = found.score(candidates.ids[missing])
    return known


_NO_SCORE = np.array([np.nan])
_NO_TIER = np.zeros(1, np.uint8)
_LEG_ORDER: tuple[LegName, ...] = ("lexical", "vector", "exact")


@dataclass(slots=True, kw_only=True)
class RankedEntry:
    """A chunk with its rank, from 1, and the score that orders the list."""

    rank: int
    chunk_id: str
    score: float
    retrieval: RetrievalDetail
    #: Of a document: its further passages, best first; else None.
    sections: "tuple[RankedEntry, ...] | None" = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranking:
    """The ranked list, `m` chunks, and the data behind it. Nothing in it is hidden from the caller."""

    mode: Mode
    #: (m,) ID, best first.
    ids: np.ndarray
    #: (m,) float64 in [0, 1], by which later stages order the list.
    scores: np.ndarray
    #: (m,) float64 by name: the relevance, and the fused scores if those that order the list were lowered.
    own_scores: Mapping[str, np.ndarray] = field(default_factory=dict)
    #: By leg that took part: (m,) int64 ranks in its list, from 1, 0 for a chunk that it did not find.
    ranks: Mapping[LegName, np.ndarray]
    #: The results of all legs that ran, and of those that took part.
    results: Mapping[LegName, LegResult]
    lists: Mapping[LegName, LegResult]
    #: Legs that were stopped or took no part: lexical, then vector, then exact.
    degraded: tuple[LegName, ...]
    #: By stage: each leg, `read_back`, `scoring` under convex fusion, `fusion`.
    timings_ms: Mapping[str, float]
    #: Where scores were fused: (m,) float64 by leg, NaN if unknown; else empty.
    known_scores: Mapping[LegName, np.ndarray] = field(default_factory=dict)
    #: Whether all candidates were visible, and whether there may be further ones.
    is_whole: bool = True
    may_have_more: bool = False
    #: (m,) bool, chunks of outdated pages; None if there are none.
    is_outdated: np.ndarray | None = None
    #: (m,) bool, chunks below the floor; None if there are none.
    is_related: np.ndarray | None = None
    #: ID of those chunks, whether they are in the list or were left out.
    below_floor: np.ndarray = field(default_factory=lambda: np.empty(0, ID))

    def __len__(self) -> int:
        return len(self.ids)

    def entries(self, stop: int, start: int = 0) -> tuple[RankedEntry, ...]:
        """Return the entries from position `start` to `stop`."""
        if start >= len(self.ids):
            return ()
        details = self.details(stop, start)
        chunk_ids = unpack_ids(self.ids[start:stop])
        return tuple(
            RankedEntry(rank=rank, chunk_id=chunk_id, score=score, retrieval=detail)
            for rank, (chunk_id, score, detail) in enumerate(
                zip(chunk_ids, self.scores[start:stop].tolist(), details, strict=True), start=start + 1
            )
        )

    def details(self, stop: int, start: int = 0) -> list[RetrievalDetail]:
        """Return the scores and ranks behind the entries from position `start` to `stop`."""
        columns = {name: column[start:stop].tolist() for name, column in self.columns().items()}
        return build_details(self.mode, columns)

    def columns(self) -> dict[str, np.ndarray]:
        """Return the fields of `RetrievalDetail` as (m,) columns; NaN, rank 0, tier 0 are absent values."""
        columns = {"fusion_score": self.scores, **self.own_scores}
        if self.is_related is not None:
            columns["related"] = self.is_related
        if self.is_outdated is not None:
            columns["outdated"] = self.is_outdated
        for name, found in self.lists.items():
            ranks = self.ranks[name]
            columns[f"{name}_rank"] = ranks
            if name != "exact":
                # Rank 0, not found, indexes the value appended after the list's last position.
                columns[f"{name}_score"] = np.concatenate((found.scores, _NO_SCORE))[ranks - 1]
            if found.tiers is not None:
                columns["tier"] = np.concatenate((found.tiers, _NO_TIER))[ranks - 1]
        return columns

    def take(self, positions: Sequence[int] | np.ndarray, scores: np.ndarray | None = None) -> "Ranking":
        """Return the list of the chunks at these positions, with other `scores` unless they are None."""
        taken = np.asarray(positions, np.int64)
        own = self.own_scores if scores is None else {"fusion_score": self.scores, **self.own_scores}
        return replace(
            self,
            ids=self.ids[taken],
            scores=self.scores[taken] if scores is None else scores,
            own_scores={name: scores[taken] for name, scores in own.items()},
            ranks={name: ranks[taken] for name, ranks in self.ranks.items()},
            known_scores={name: scores[taken] for name, scores in self.known_scores.items()},
            is_related=None if self.is_related is None else self.is_related[taken],
            is_outdated=None if self.is_outdated is None else self.is_outdated[taken],
        )

    @property
    def tiers(self) -> np.ndarray:
        """Return (m,) the tiers that order a list of words alone; those of any other list are equal."""
        found = self.lists.get("lexical")
        if self.mode is not Mode.LEXICAL or found is None or found.tiers is None:
            return np.zeros(len(self.ids), np.uint8)
        tiers: np.ndarray = np.append(found.tiers, _NO_TIER)[self.ranks["lexical"] - 1]
        return tiers

    def position_of(self, chunk_id: str) -> int | None:
        """Return the position of a chunk, from 0; None if it is not in the list."""
        found = np.flatnonzero(self.ids == pack_ids([chunk_id])[0])
        return int(found[0]) if len(found) else None

    def ranks_at(self, position: int) -> dict[str, int]:
        """Return the ranks of the chunk at `position` in the lists that have it."""
        ranks: dict[str, int] = {name: int(column[position]) for name, column in self.ranks.items()}
        return {name: rank for name, rank in ranks.items() if rank}


def build_details(method: Mode, columns: Mapping[str, Sequence[float]]) -> list[RetrievalDetail]:
    """Return the details of the rows of `Ranking.columns`."""
    values = [_mark_absent(name, column) for name, column in columns.items()]
    return [
        RetrievalDetail(method=method, **dict(zip(columns, row, strict=True)))
        for row in zip(*values, strict=True)
    ]


def _mark_absent(name: str, column: Sequence[float]) -> list[Any]:
    """Return the values of a column of `Ranking.columns` as a detail has them, None where absent."""
    if name == "tier":
        return [TIERS[int(value)] for value in column]
    if name in ("related", "outdated", "pinned"):
        return [value != 0 for value in column]
    if name.endswith("_rank"):
        return [value or None for value in column]
    return [None if value != value else value for value in column]


def rank_candidates(
    mode: Mode,
    legs: Sequence[Leg],
    check_visible: CheckVisible,
    *,
    k: int,
    executor: Executor | None = None,
    fusion: Fusion = Fusion.RRF,
    k_rrf: int = RRF_K,
    vector_share: float = VECTOR_SHARE,
    is_foreign: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Ranking:
    """Rank the candidates of the legs: in the leg's order in a single mode, fused in hybrid.

    `is_foreign` tells the chunks, (m,) ID, in other languages than the query's: a model finds them less
    similar than its own language's, which convex fusion makes up for (`LANGUAGE_BONUS`).

    Raises: ValueError for a single mode with other than one leg.
    """
    if mode is not Mode.HYBRID and len(legs) != 1:
        raise ValueError(f"Mode {mode} ranks one leg's list, not {len(legs)}; ask for hybrid to fuse them.")
    results = run_legs(legs, check_visible, k=k, executor=executor)
    started = time.perf_counter()
    lists = _participating_lists(legs, results)
    if mode is not Mode.HYBRID or not lists:
        return _rank_single(mode, lists, results, started)
    timings = dict(results.timings_ms)
    weights = {leg.name: leg.weight for leg in legs}
    candidates = Candidates.of(lists)
    fused_ranks = _ranks_to_fuse(candidates, lists, weights)
    known: dict[LegName, np.ndarray] = {}
    bonus: np.ndarray | None = None
    if fusion is Fusion.CONVEX:
        known = score_by_legs(candidates, lists)
        if is_foreign is not None and "vector" in lists:
            bonus = LANGUAGE_BONUS * is_foreign(candidates.ids)
            fused_ranks = _lift_foreign(candidates, fused_ranks, bonus)
        scoring_started, started = started, time.perf_counter()
        timings["scoring"] = (started - scoring_started) * 1000
    if known:
        scores, vectors_at = _comparable(known, bonus), _vectors_at(candidates, lists)
        shares: Any = {"vector_share": vector_share, "k_rrf": k_rrf}
        fused = convex_combination(scores, fused_ranks, weights, vectors_at=vectors_at, **shares)
    else:
        fused = reciprocal_rank_fusion(fused_ranks, weights, k_rrf)
    order = candidates.order(fused)
    timings["fusion"] = (time.perf_counter() - started) * 1000
    return Ranking(
        mode=mode,
        ids=candidates.ids[order],
        scores=fused[order],
        ranks={name: ranks[order] for name, ranks in candidates.ranks.items()},
        results=results.by_leg,
        lists=lists,
        degraded=_degraded_legs(results),
        timings_ms=timings,
        known_scores={name: scores[order] for name, scores in known.items()},
        is_whole=results.are_whole,
        may_have_more=results.may_have_more,
    )


def _ranks_to_fuse(
    candidates: Candidates, lists: Mapping[LegName, LegResult], weights: Mapping[LegName, float]
) -> Mapping[LegName, np.ndarray]:
    exact = lists.get("exact")
    if exact is not None and weights["exact"] < ALONE_WEIGHT and not exact.is_decisive:
        return _lift_common_first(candidates.ranks)
    return candidates.ranks


def rank_nothing(mode: Mode, legs: Iterable[LegName]) -> Ranking:
    """Return the empty list of `legs`, none of which was asked."""
    found = dict.fromkeys(legs, LegResult())
    results = LegResults(by_leg=found, timings_ms={}, are_whole=True, may_have_more=False)
    return _rank_single(mode, found, results, time.perf_counter())


def _lift_common_first(ranks: Mapping[LegName, np.ndarray]) -> Mapping[LegName, np.ndarray]:
    """Return the ranks to fuse: a candidate that all other lists have first is also first of `exact`.

    Beside other words, a name lifts what has it, and never sinks what words and vectors agree upon.
    """
    others = [places for name, places in ranks.items() if name != "exact"]
    if "exact" not in ranks or len(others) < 2:
        return ranks
    firsts = np.logical_and.reduce([places == 1 for places in others])
    return {**ranks, "exact": np.where(firsts, 1, ranks["exact"])}


def _participating_lists(legs: Sequence[Leg], results: LegResults) -> dict[LegName, LegResult]:
    lists = {name: found for name, found in results.by_leg.items() if found.is_available}
    absent = {leg.name for leg in legs if leg.is_skipped_when_empty and not len(results.by_leg[leg.name].ids)}
    return {name: found for name, found in lists.items() if name not in absent}


def _degraded_legs(results: LegResults) -> tuple[LegName, ...]:
    by_leg = results.by_leg
    return tuple(name for name in _LEG_ORDER if name in by_leg and not by_leg[name].is_complete)


def _lift_foreign(
    candidates: Candidates, ranks: Mapping[LegName, np.ndarray], bonus: np.ndarray
) -> Mapping[LegName, np.ndarray]:
    """Return the ranks, those of vectors by scores with the bonus of each candidate."""
    return {**ranks, "vector": _rank_found(candidates.scores["vector"] + bonus, ranks["vector"])}


def _rank_found(scores: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Return the ranks, (m,) int64 from 1, of candidates by other scores, 0 for one that was not found."""
    order = np.lexsort((ranks, -scores, ranks == 0))
    places = np.empty_like(ranks)
    places[order] = np.arange(1, len(order) + 1)
    places[ranks == 0] = 0
    return places


def _comparable(
    known: Mapping[LegName, np.ndarray], vector_bonus: np.ndarray | None
) -> dict[LegName, np.ndarray]:
    # The public lexical score squeezes bm25 below 1, where good and best scores hardly differ.
    scores = {name: bm25_magnitudes(each) if name == "lexical" else each for name, each in known.items()}
    if vector_bonus is not None and "vector" in scores:
        scores["vector"] = scores["vector"] + vector_bonus
    return scores


def _vectors_at(
    candidates: Candidates, lists: Mapping[LegName, LegResult]
) -> Callable[[np.ndarray], np.ndarray] | None:
    for found in lists.values():
        if found.has_vectors:
            return lambda indexes, found=found: found.vectors(candidates.ids[indexes])  # type: ignore[misc]  # its default
    return None


def _rank_single(
    mode: Mode, lists: Mapping[LegName, LegResult], results: LegResults, started: float
) -> Ranking:
    """Return the list of the only leg in its order, or of empty ones; its score is the fused score."""
    found = next(iter(lists.values()), LegResult())
    elapsed_ms = (time.perf_counter() - started) * 1000
    return Ranking(
        mode=mode,
        ids=found.ids,
        scores=found.scores,
        ranks={name: np.arange(1, len(found.ids) + 1) for name in lists},
        results=results.by_leg,
        lists=lists,
        degraded=_degraded_legs(results),
        timings_ms={**results.timings_ms, "fusion": elapsed_ms},
        is_whole=results.are_whole,
        may_have_more=results.may_have_more,
    )
