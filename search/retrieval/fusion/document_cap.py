"""Cap on the candidates of one document, so that one file can't fill the list."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

T = TypeVar("T")

#: Number of fused candidates considered, and number kept of one document before a rerank.
TOP_M = 60
PRE_RERANK_MAX_PER_FILE = 5


def cap_per_file(candidates: Sequence[T], *, file_of: Callable[[T], Hashable], cap: int) -> list[T]:
    """Keep the first `cap` candidates of each file, in order; a cap of 0 or less keeps all."""
    if cap <= 0:
        return list(candidates)
    counts: Counter[Hashable] = Counter()
    kept: list[T] = []
    for candidate in candidates:
        counts[file_of(candidate)] += 1
        if counts[file_of(candidate)] <= cap:
            kept.append(candidate)
    return kept
