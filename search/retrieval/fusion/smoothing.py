"""Smoothing of scores over neighbours: similar passages are relevant to the same questions.

The score of each of the first candidates is mixed with those of its nearest neighbours among them:

    smoothed(c) = (1 - a) · score(c) + a · Σ cos(c, n) · score(n) / Σ cos(c, n)

over the 8 nearest `n` of `c` whose cosine is positive. That is one step of F. Diaz, "Regularizing Ad Hoc
Retrieval Scores", CIKM 2005, after the cluster hypothesis of C. J. van Rijsbergen, "Information Retrieval",
1979. An isolated passage that one leg scored too high falls; a passage among others that both legs score high
rises. `a` was measured on six sets (docs/evaluation/fusion.md).
"""

from typing import Final

import numpy as np

#: Number of the best candidates whose scores are smoothed, and of neighbours for each of them.
MAX_SMOOTHED: Final = 50
NEIGHBOURS: Final = 8
#: Share of the neighbours in a smoothed score, `a`.
NEIGHBOUR_SHARE: Final = 0.4

# Copies of a passage must have equal scores, whatever the order of summation.
_DIGITS = 9


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
    return np.asarray(np.round(directions @ directions.T, _DIGITS))


def _nearest_weights(cosines: np.ndarray) -> np.ndarray:
    """Return the 8 largest positive values of each row, with ties of the last, else 0; never the diagonal."""
    np.fill_diagonal(cosines, -1.0)
    count = min(NEIGHBOURS, len(cosines) - 1)
    least = -np.partition(-cosines, count - 1, axis=1)[:, count - 1 : count]
    return np.where(cosines >= least, np.maximum(cosines, 0.0), 0.0)
