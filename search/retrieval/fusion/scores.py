"""Scores of candidates: the scales of the legs, and their fusion by ranks or by scores.

Reciprocal rank fusion: `raw(c) = Σ w_m / (k + rank_m(c))`, ranks from 1, an absent list contributing nothing;
normalised by the score of first place in every list. G. V. Cormack, C. L. A. Clarke and S. Büttcher,
"Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods", SIGIR 2009.

Convex fusion is the mean of the legs' scores, each scaled over the candidates. `z_m(c)` is the score `s_m(c)`
less the mean of the leg's scores, in standard deviations of them, over the candidates of all legs: a leg that
scores all candidates alike moves none of them. `exp(z / 3)` stretches the differences among the best of a leg
more than those among average ones. Where `z` is unknown, as that of a passage without a vector is, it is the
other leg's, times the share of that leg's candidates for which it is unknown: with few vectors words decide,
as the nearest of few are seldom near, and with most of them nothing is presumed. Then

    fused(c) = Σ share_m · exp(z_m(c) / 3) / Σ share_m · max exp(z_m / 3)

and the best are smoothed over their neighbours: similar passages are relevant to the same questions. Means of
normalised scores rank better than means of ranks: S. Bruch, S. Gai and A. Ingber, "An Analysis of Fusion
Functions for Hybrid Retrieval", ACM TOIS 42 (2023). Shares and scale were measured on six sets
(docs/evaluation/fusion.md).
"""

import math
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from search.retrieval.fusion.legs import LegName

_JUST_BELOW_ONE = math.nextafter(1.0, 0.0)


def lexical_scores(sums: np.ndarray) -> np.ndarray:
    """Return `s / (1 + |s|)`, in [0, 1), for sums of bm25, higher is better.

    Rounding may swap neighbouring floats, so ranks are computed from the sums.

    Raises: ValueError for a sum that is not finite.
    """
    if not np.isfinite(sums).all():
        raise ValueError("A sum of bm25 must be finite.")
    scores: np.ndarray = np.clip(sums / (1.0 + np.abs(sums)), 0.0, _JUST_BELOW_ONE)
    return scores


#: A smaller collection counts as one of this size, because every word that it has is common.
MIN_CHUNKS: Final = 1_000


def rarity(n: int, chunk_count: int) -> float:
    """Return the weight of a word of `n` chunks, `ln(1 + (N - n + 0.5) / (n + 0.5))`: Lucene's idf."""
    return math.log(1 + (max(MIN_CHUNKS, chunk_count, n) - n + 0.5) / (n + 0.5))


def bm25_magnitudes(scores: np.ndarray) -> np.ndarray:
    """Return the sums of bm25, at least 0, of lexical `scores`; the inverse of `lexical_scores`."""
    sums: np.ndarray = scores / (1.0 - scores)
    return sums


def vector_scores(cosines: np.ndarray) -> np.ndarray:
    """Return `(1 + cosine) / 2`, in [0, 1]; a cosine slightly outside [-1, 1] by rounding is clamped.

    Raises: ValueError for an infinite cosine.
    """
    if np.isinf(cosines).any():
        raise ValueError("A cosine must be finite.")
    scores: np.ndarray = np.clip((1.0 + cosines) / 2.0, 0.0, 1.0)
    return scores


#: Number of the best candidates whose scores are smoothed, and of neighbours for each of them.
MAX_SMOOTHED: Final = 50
NEIGHBOURS: Final = 8
#: Share of the neighbours in a smoothed score, `a`.
NEIGHBOUR_SHARE: Final = 0.4

# Copies of a passage must have equal scores, whatever the order of summation.
_COSINE_DIGITS = 9


def smooth_scores(scores: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return the `(n,)` scores, smoothed over the nearest neighbours among the `(n, dim)` vectors.

    No smoothed score is above the best of `scores` or below the worst. A score without neighbours, for lack
    of other candidates or because its vector is zero, is unchanged.
    """
    if len(scores) < 2:
        return scores
    weights = _nearest_weights(_cosines(vectors.astype(np.float64)))
    sums = weights.sum(axis=1)
    has_any = sums > 0
    neighbour_means = (weights @ scores)[has_any] / sums[has_any]
    result = scores.copy()
    result[has_any] += NEIGHBOUR_SHARE * (neighbour_means - scores[has_any])
    return result


def _cosines(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return np.asarray(np.round(directions @ directions.T, _COSINE_DIGITS))


def _nearest_weights(cosines: np.ndarray) -> np.ndarray:
    """Return the 8 largest positive values of each row, with ties of the last, else 0; never the diagonal."""
    np.fill_diagonal(cosines, -1.0)
    count = min(NEIGHBOURS, len(cosines) - 1)
    least = -np.partition(-cosines, count - 1, axis=1)[:, count - 1 : count]
    return np.where(cosines >= least, np.maximum(cosines, 0.0), 0.0)


RRF_K = 60
# Equal scores have to tie, but their sums differ in the last bits.
_DIGITS = 12


def reciprocal_rank_fusion(
    ranks: Mapping[LegName, np.ndarray], weights: Mapping[LegName, float], k_rrf: int = RRF_K
) -> np.ndarray:
    """Return the fused scores of candidates, (m,) float64 in [0, 1], whatever the order of the lists.

    `ranks` are (m,) int64 by list, from 1, 0 for a candidate that is not in the list; `weights` are positive.
    """
    best = math.fsum(weights[name] / (k_rrf + 1) for name in ranks)
    total = np.zeros(len(next(iter(ranks.values()), ())))
    for name in sorted(ranks):
        total += np.where(ranks[name] > 0, weights[name] / (k_rrf + ranks[name]), 0.0)
    fused: np.ndarray = np.minimum(1.0, np.round(total / (best or 1.0), _DIGITS))
    return fused


#: Share of the vector leg; the lexical leg has the rest. The best of 0.6, 0.65, …, 0.85.
VECTOR_SHARE: Final = 0.7
#: Added to its score of a passage in another language than the query's, as a model finds those in the query's
#: language more similar: 0.01 of cosine (docs/measurements/languages.md).
LANGUAGE_BONUS: Final = 0.005
#: Its least share for a query in a language that no document is in.
ACROSS_LANGUAGES_SHARE: Final = 0.9
# The part of that share that it has for a query of so few words, which tell a model little: 0.5, 0.55, 0.6.
_SHORT_QUERY_PARTS: Final[Mapping[int, float]] = {1: 10 / 14, 2: 11 / 14, 3: 12 / 14}
_SPREAD = 3.0
# Equal scores differ from their mean by rounding errors, which are no deviation.
_ROUNDING = 1e-12


def vector_share_of(share: float, word_count: int) -> float:
    """Return the share of the vector leg for a query of so many words, where long ones have `share`."""
    return share * _SHORT_QUERY_PARTS.get(word_count, 1.0)


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
    deviations = {name: _standardise(each) for name, each in scores.items()}
    columns = [
        shares[name] * weights[name] * np.exp(_estimate_unknown(name, deviations, ranks) / _SPREAD)
        for name in sorted(scores)
    ]
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


def _standardise(scores: np.ndarray) -> np.ndarray:
    """Return `z` of each candidate, NaN where its score is unknown."""
    known = scores[~np.isnan(scores)]
    count = max(1, len(known))
    mean = float(known.sum()) / count
    offsets = known - mean
    deviation = math.sqrt(float(offsets @ offsets) / count)
    if deviation <= abs(mean) * _ROUNDING:
        return np.where(np.isnan(scores), np.nan, 0.0)
    standardised: np.ndarray = (scores - mean) / deviation
    return standardised


def _estimate_unknown(
    name: LegName, deviations: Mapping[LegName, np.ndarray], ranks: Mapping[LegName, np.ndarray]
) -> np.ndarray:
    """Return `z` of each candidate for a leg, where unknown by that of the other leg."""
    estimated = deviations[name]
    is_unknown = np.isnan(estimated)
    if not is_unknown.any():
        return estimated
    for other in deviations.keys() - {name}:
        others = is_unknown[ranks[other] > 0] if other in ranks else is_unknown
        share = others.mean() if len(others) else 0.0
        estimated = np.where(is_unknown, share * np.nan_to_num(deviations[other]), estimated)
    return estimated


def _smooth(means: np.ndarray, vectors_at: VectorsAt) -> None:
    """Smooth the best of the means in place; a candidate without a vector is unchanged and no neighbour."""
    best = np.argsort(-means, kind="stable")[:MAX_SMOOTHED]
    means[best] = smooth_scores(means[best], vectors_at(best))
