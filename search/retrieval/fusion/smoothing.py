"""Scores smoothed over neighbours: passages that say the same are relevant to the same questions.

Each of the first candidates takes over a part of what its nearest neighbours among them score:

    smoothed(c) = (1 - a) · score(c) + a · Σ cos(c, n) · score(n) / Σ cos(c, n)

over the 8 nearest `n` of `c` whose cosine is positive. That is one step of F. Diaz, "Regularizing Ad Hoc
Retrieval Scores", CIKM 2005, after the cluster hypothesis of C. J. van Rijsbergen, "Information Retrieval",
1979. A single passage that one leg is wrong about falls, one among others that both legs like rises. How much
was measured on six sets (docs/evaluation/fusion.md).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

#: Gives the vectors, `(dim,)` each, of those of these chunks that have one, by chunk id.
VectorsOf = Callable[[Sequence[str]], Mapping[str, np.ndarray]]

#: Candidates whose scores are smoothed, the best ones; and of them the neighbours that each listens to.
SMOOTHED: Final = 50
NEIGHBOURS: Final = 8
#: What the neighbours have to say in a score.
PART: Final = 0.4

# Copies of a passage have to come out the same, whatever order the sums were in.
_DIGITS = 9


def smoothed(scores: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return the `(n,)` scores, smoothed over the neighbours that the `(n, dim)` vectors have among
    themselves.

    No smoothed score is above the best of `scores` or below the worst. One without a neighbour, for lack of
    others or of a direction of its own, stays what it is.
    """
    if len(scores) < 2:
        return scores
    weights = _nearest(_cosines(vectors.astype(np.float64)))
    sums = weights.sum(axis=1)
    has_any = sums > 0
    heard = (weights @ scores)[has_any] / sums[has_any]
    result = scores.copy()
    result[has_any] += PART * (heard - scores[has_any])
    return result


def _cosines(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return np.asarray(np.round(directions @ directions.T, _DIGITS))


def _nearest(cosines: np.ndarray) -> np.ndarray:
    """Keep of each row the 8 largest that are positive, and what ties with the last; the diagonal is none."""
    np.fill_diagonal(cosines, -1.0)
    count = min(NEIGHBOURS, len(cosines) - 1)
    least = -np.partition(-cosines, count - 1, axis=1)[:, count - 1 : count]
    return np.where(cosines >= least, np.maximum(cosines, 0.0), 0.0)
