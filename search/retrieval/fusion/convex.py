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
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from search.retrieval.fusion.legs import LegName
from search.retrieval.fusion.rrf import RRF_K
from search.retrieval.fusion.smoothing import MAX_SMOOTHED, smooth_scores

#: Share of the vector leg; the lexical leg has the rest. The best of 0.6, 0.65, …, 0.85.
VECTOR_SHARE: Final = 0.7
_SPREAD = 3.0
# Equal scores have to tie, but their sums differ in the last bits.
_DIGITS = 12
# Equal scores differ from their mean by rounding errors, which are no deviation.
_ROUNDING = 1e-12

#: Returns the vectors, (n, dim), of the candidates at these indexes, zeros for one without a vector.
VectorsAt = Callable[[np.ndarray], np.ndarray]


def convex_combination(
    scores: Mapping[LegName, np.ndarray],
    ranks: Mapping[LegName, np.ndarray],
    weights: Mapping[LegName, float],
    *,
    vectors_at: VectorsAt | None = None,
    vector_share: float = VECTOR_SHARE,
    k_rrf: int = RRF_K,
) -> np.ndarray:
    """Return the fused scores of candidates, (m,) float64 in [0, 1], whatever the order of the lists.

    `scores` are (m,) by leg, on any scale, higher is better, NaN if unknown. `vector_share`, in [0, 1], is
    that of the vector leg; the lexical leg has the rest. With `vectors_at` the scores of the best 50 are
    smoothed over their neighbours. Lists that have ranks and no scores are then averaged in with the
    reciprocal rank scores of their `ranks`, from 1, 0 for a candidate that is not in the list.
    """
    shares: Mapping[LegName, float] = {"lexical": 1.0 - vector_share, "vector": vector_share}
    columns = [shares[name] * weights[name] * _scale(scores[name]) for name in sorted(scores)]
    best = math.fsum(float(column.max(initial=0.0)) for column in columns)
    means = np.round(sum(columns[1:], columns[0]) / (best or 1.0), _DIGITS)
    if vectors_at is not None:
        _smooth(means, vectors_at)
    weight = math.fsum(weights[name] for name in scores)
    ranked = sorted(ranks.keys() - scores.keys())
    totals = weight * means
    for name in ranked:
        places = ranks[name]
        totals += np.where(places > 0, weights[name] * (k_rrf + 1) / (k_rrf + places), 0.0)
    whole = math.fsum([weight, *(weights[name] for name in ranked)])
    fused: np.ndarray = np.minimum(1.0, np.round(totals / whole, _DIGITS))
    return fused


def _scale(scores: np.ndarray) -> np.ndarray:
    """Return `exp(z / 3)` of each candidate: 1 where the score is unknown, or equal to the mean."""
    is_unknown = np.isnan(scores)
    known = scores[~is_unknown]
    mean, deviation = (known.mean(), known.std()) if len(known) else (0.0, 0.0)
    if deviation <= abs(mean) * _ROUNDING:
        return np.ones(len(scores))
    return np.exp(np.where(is_unknown, 0.0, scores - mean) / (_SPREAD * deviation))


def _smooth(means: np.ndarray, vectors_at: VectorsAt) -> None:
    """Smooth the best of the means in place; a candidate without a vector is unchanged and no neighbour."""
    best = np.argsort(-means, kind="stable")[:MAX_SMOOTHED]
    means[best] = smooth_scores(means[best], vectors_at(best))
