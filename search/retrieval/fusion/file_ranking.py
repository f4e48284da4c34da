"""Files ranked by all that was found of them: in code a question's words stand here and there in a file.

found(file) = weight(file) · Σ_lists w · Σ_j d^j / (60 + rank_j)   over its passages in each list, j from 0
score(file) = 61 / (60 + the file's rank by `found`)               1.0, 0.984, …; 0.753 for the 21st
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Final

from search.retrieval.expansion import Reached
from search.retrieval.fusion.rrf import RRF_K

#: What each further passage of a file in a list adds of what it would add as the first.
DECAY: Final = 0.5
#: What each further passage of a file has of the score of the one before, so that many files come first, each
#: with its best passage, then more of the first ones.
DEPTH_FACTOR: Final = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPassage:
    """A passage as a list has it."""

    chunk_id: str
    #: What names its file.
    doc_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundList:
    """Passages, best first, and how much the list counts."""

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

    `weight_of` says by a file's id how much it counts, in (0, 1].
    """
    added: defaultdict[str, list[float]] = defaultdict(list)
    of_passage: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for found in lists:
        seen: defaultdict[str, int] = defaultdict(int)
        for rank, passage in enumerate(found.passages, start=1):
            worth = found.weight / (RRF_K + rank)
            added[passage.doc_id].append(worth * DECAY ** seen[passage.doc_id])
            of_passage[passage.doc_id][passage.chunk_id].append(worth)
            seen[passage.doc_id] += 1
    scores = {doc_id: weight_of(doc_id) * fsum(each) for doc_id, each in added.items()}
    ordered = sorted(scores, key=lambda doc_id: (-scores[doc_id], doc_id))
    return [
        RankedFile(
            doc_id=doc_id, score=(RRF_K + 1) / (RRF_K + rank), chunk_ids=_best_first(of_passage[doc_id])
        )
        for rank, doc_id in enumerate(ordered, start=1)
    ]


def spread(files: Iterable[RankedFile], *, per_file: int) -> list[Reached]:
    """Return the first `per_file` passages of each file, scored so that breadth comes before depth."""
    found = [
        Reached(chunk_id=chunk_id, score=file.score * DEPTH_FACTOR**place)
        for file in files
        for place, chunk_id in enumerate(file.chunk_ids[:per_file])
    ]
    return sorted(found, key=lambda each: (-each.score, each.chunk_id))


def _best_first(passages: dict[str, list[float]]) -> tuple[str, ...]:
    return tuple(sorted(passages, key=lambda chunk_id: (-fsum(passages[chunk_id]), chunk_id)))
