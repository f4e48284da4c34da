"""Conversion of the legs' raw scores to public scores: higher is better, in [0, 1]."""

import math

_JUST_BELOW_ONE = math.nextafter(1.0, 0.0)


def lexical_score(bm25: float) -> float:
    """Return `-bm25 / (1 + |bm25|)`, in [0, 1), for SQLite's bm25, which is negative and better when lower.

    Rounding may swap neighbouring floats, so ranks are computed from bm25.

    Raises: ValueError for a bm25 that is not finite.
    """
    if not math.isfinite(bm25):
        raise ValueError(f"A bm25 of {bm25} has no score; the index gives finite ones only.")
    return min(max(0.0, -bm25 / (1.0 + abs(bm25))), _JUST_BELOW_ONE)


def bm25_magnitude(score: float) -> float:
    """Return the `-bm25`, at least 0, of a lexical `score`; the inverse of `lexical_score`."""
    return score / (1.0 - score)


def vector_score(cosine: float) -> float:
    """Return `(1 + cosine) / 2`, in [0, 1]; a cosine slightly outside [-1, 1] by rounding is clamped.

    Raises: ValueError for a cosine that is not finite.
    """
    if not math.isfinite(cosine):
        raise ValueError(f"A cosine of {cosine} has no score; leave zero vectors out of the list.")
    return min(max(0.0, (1.0 + cosine) / 2.0), 1.0)
