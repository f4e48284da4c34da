"""Conversion of the legs' raw scores, (n,) float64, to public scores: higher is better, in [0, 1]."""

import math

import numpy as np

_JUST_BELOW_ONE = math.nextafter(1.0, 0.0)


def lexical_scores(sums: np.ndarray) -> np.ndarray:
    """Return `s / (1 + |s|)`, in [0, 1), for sums of bm25, higher is better.

    Rounding may swap neighbouring floats, so ranks are computed from the sums.

    Raises: ValueError for a sum that is not finite.
    """
    if not np.isfinite(sums).all():
        raise ValueError("A sum of bm25 that is not finite has no score; the index gives finite ones only.")
    scores: np.ndarray = np.clip(sums / (1.0 + np.abs(sums)), 0.0, _JUST_BELOW_ONE)
    return scores


def bm25_magnitudes(scores: np.ndarray) -> np.ndarray:
    """Return the sums of bm25, at least 0, of lexical `scores`; the inverse of `lexical_scores`."""
    sums: np.ndarray = scores / (1.0 - scores)
    return sums


def vector_scores(cosines: np.ndarray) -> np.ndarray:
    """Return `(1 + cosine) / 2`, in [0, 1]; a cosine slightly outside [-1, 1] by rounding is clamped.

    Raises: ValueError for an infinite cosine.
    """
    if np.isinf(cosines).any():
        raise ValueError("An infinite cosine has no score.")
    scores: np.ndarray = np.clip((1.0 + cosines) / 2.0, 0.0, 1.0)
    return scores
