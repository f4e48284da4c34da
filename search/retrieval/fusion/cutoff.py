"""Cutoff of a reranked list after the last relevant hit."""

from collections.abc import Sequence
from itertools import takewhile

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
