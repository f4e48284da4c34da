"""Convex fusion: the mean of the legs' scores, each scaled over the candidates.

`z_m(c)` is the score `s_m(c)` less the mean of the leg's scores, in standard deviations of them, over the
candidates of all legs: a leg that scores all candidates alike moves none of them. `exp(z / 3)` stretches the
differences among the best of a leg more than those among average ones. Then

    fused(c) = Σ share_m · exp(z_m(c) / 3) / Σ share_m · max exp(z_m / 3)

and the best are smoothed over their neighbours (`search.retrieval.fusion.smoothing`). Means of normalised
scores rank better than means of ranks: S. Bruch, S. Gai and A. Ingber, "An Analysis of Fusion Functions for
Hybrid Retrieval", ACM TOIS 42 (2023). Shares and scale were measured on six sets (docs/evaluation/fusion.md).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from search.retrieval.fusion.rrf import RRF_K, FusedChunk, RankedList, fused_sort_key, ranks_by_chunk
from search.retrieval.fusion.smoothing import MAX_SMOOTHED, VectorsOf, smooth_scores

#: Share of the vector leg; the lexical leg has the rest. The best of 0.6, 0.65, …, 0.85.
VECTOR_SHARE: Final = 0.7
_SPREAD = 3.0
# Equal scores have to tie, but their sums differ in the last bits.
_DIGITS = 12
# Equal scores differ from their mean by rounding errors, which are no deviation.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredList:
    """A list to fuse, best first, with its leg's scores of the candidates of all lists."""

    name: str
    #: Multiplies the leg's share.
    weight: float = 1.0
    chunk_ids: Sequence[str]
    #: Any scale, higher is better; a missing candidate has an unknown score.
    scores: Mapping[str, float]


def convex_combination(
    scored: Sequence[ScoredList],
    ranked: Sequence[RankedList] = (),
    k_rrf: int = RRF_K,
    vectors_of: VectorsOf | None = None,
    *,
    vector_share: float = VECTOR_SHARE,
) -> list[FusedChunk]:
    """Fuse the lists. Order: score descending, lexical rank ascending (absent last), chunk id ascending.

    `vector_share`, in [0, 1], is that of the vector leg; the lexical leg has the rest. With `vectors_of` the
    scores of the best 50 are smoothed over their neighbours. Lists that have ranks and no scores, `ranked`,
    are then averaged in with the reciprocal rank scores of their ranks. Scores lie in [0, 1]; the order of
    the lists changes nothing.
    """
    by_name = sorted(scored, key=lambda each: each.name)
    unscored = [RankedList(name=each.name, weight=each.weight, chunk_ids=each.chunk_ids) for each in by_name]
    ranks = ranks_by_chunk([*unscored, *ranked])
    candidates = sorted(ranks)
    shares = {"lexical": 1.0 - vector_share, "vector": vector_share}
    means = _mean_scores(by_name, candidates, shares)
    if vectors_of is not None:
        _smooth(means, candidates, vectors_of)
    weight = math.fsum(each.weight for each in scored)
    whole = math.fsum([weight, *(each.weight for each in ranked)])
    totals = weight * means
    for each in sorted(ranked, key=lambda each: each.name):
        totals += [_rank_score(each, ranks[chunk_id], k_rrf) for chunk_id in candidates]
    scores = np.minimum(1.0, np.round(totals / whole, _DIGITS)).tolist()
    fused = [
        FusedChunk(chunk_id=chunk_id, score=score, ranks=ranks[chunk_id])
        for chunk_id, score in zip(candidates, scores, strict=True)
    ]
    return sorted(fused, key=fused_sort_key)


def _mean_scores(
    scored: Sequence[ScoredList], candidates: Sequence[str], shares: Mapping[str, float]
) -> np.ndarray:
    """Return the weighted mean of the scaled scores, relative to a candidate that is best in every list."""
    columns = [shares[each.name] * each.weight * _scale_scores(each.scores, candidates) for each in scored]
    best = math.fsum(float(column.max(initial=0.0)) for column in columns)
    return np.round(sum(columns, np.zeros(len(candidates))) / (best or 1.0), _DIGITS)


def _scale_scores(scores: Mapping[str, float], candidates: Sequence[str]) -> np.ndarray:
    """Return `exp(z / 3)` of each candidate: 1 where the score is unknown, or equal to the mean."""
    column = np.array([scores.get(chunk_id, math.nan) for chunk_id in candidates])
    known = column[~np.isnan(column)]
    mean, deviation = (known.mean(), known.std()) if len(known) else (0.0, 0.0)
    if deviation <= abs(mean) * _ROUNDING:
        return np.ones(len(column))
    return np.exp(np.where(np.isnan(column), 0.0, column - mean) / (_SPREAD * deviation))


def _smooth(means: np.ndarray, candidates: Sequence[str], vectors_of: VectorsOf) -> None:
    """Smooth the best of the means in place; a candidate without a vector is unchanged and no neighbour."""
    best = np.argsort(-means, kind="stable")[:MAX_SMOOTHED]
    vectors = vectors_of([candidates[index] for index in best])
    known = [index for index in best.tolist() if candidates[index] in vectors]
    if known:
        means[known] = smooth_scores(means[known], np.stack([vectors[candidates[index]] for index in known]))


def _rank_score(ranked: RankedList, ranks: Mapping[str, int], k_rrf: int) -> float:
    rank = ranks.get(ranked.name)
    return 0.0 if rank is None else ranked.weight * (k_rrf + 1) / (k_rrf + rank)
