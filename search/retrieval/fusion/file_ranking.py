"""Ranking of files by all their passages found: in code a question's words are spread over a file.

found(file) = weight(file) · Σ_lists w · Σ_j d^j / (60 + rank_j)   over its passages in each list, j from 0
score(file) = 61 / (60 + the file's rank by `found`)               1.0, 0.984, …; 0.753 for the 21st
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Final

from search.retrieval.expansion import ReachedChunk
from search.retrieval.fusion.scores import RRF_K

#: Factor by which each further passage of a file in a list counts less than the one before.
DECAY: Final = 0.5
#: Score of each further passage of a file, relative to the one before: the best passages of many files come
#: first, then further passages of the first files.
DEPTH_FACTOR: Final = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPassage:
    """A passage of a list."""

    chunk_id: str
    #: Identifies its file.
    doc_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundList:
    """Passages, best first, and the weight of the list."""

    passages: Sequence[FoundPassage]
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedFile:
    """A file, its score in [0, 1], and its passages, best first."""

    doc_id: str
    score: float
    chunk_ids: tuple[str, ...]


def rank_files(
    lists: Iterable[FoundList], *, weight_of: Callable[[str], float] = lambda doc_id: 1.0
) -> list[RankedFile]:
    """Return the files that hold any of the passages, best first, ties by id.

    `weight_of` returns the weight of a file, in (0, 1], by its id.
    """
    added: defaultdict[str, list[float]] = defaultdict(list)
    of_passage: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for found in lists:
        seen: defaultdict[str, int] = defaultdict(int)
        for rank, passage in enumerate(found.passages, start=1):
            contribution = found.weight / (RRF_K + rank)
            added[passage.doc_id].append(contribution * DECAY ** seen[passage.doc_id])
            of_passage[passage.doc_id][passage.chunk_id].append(contribution)
            seen[passage.doc_id] += 1
    scores = {doc_id: weight_of(doc_id) * fsum(each) for doc_id, each in added.items()}
    ordered = sorted(scores, key=lambda doc_id: (-scores[doc_id], doc_id))
    return [
        RankedFile(
            doc_id=doc_id, score=(RRF_K + 1) / (RRF_K + rank), chunk_ids=_sort_passages(of_passage[doc_id])
        )
        for rank, doc_id in enumerate(ordered, start=1)
    ]


def spread(files: Iterable[RankedFile], *, per_file: int) -> list[ReachedChunk]:
    """Return the first `per_file` passages of each file, scored so that breadth comes before depth."""
    found = [
        ReachedChunk(chunk_id=chunk_id, score=file.score * DEPTH_FACTOR**index)
        for file in files
        for index, chunk_id in enumerate(file.chunk_ids[:per_file])
    ]
    return sorted(found, key=lambda each: (-each.score, each.chunk_id))


def _sort_passages(passages: dict[str, list[float]]) -> tuple[str, ...]:
    return tuple(sorted(passages, key=lambda chunk_id: (-fsum(passages[chunk_id]), chunk_id)))
