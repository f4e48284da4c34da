"""Expansion of hits with related chunks: neighbours, siblings and imported files.

a neighbour in the same document   score × 0.8 for each step
under the same breadcrumb parent   score × 0.7
in a file that a hit imports       score × 0.6
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from search.retrieval.wire_types import HexId, Score

ReachedBy = Literal["hit", "neighbour", "sibling", "import"]

NEIGHBOUR_FACTOR = 0.8
SIBLING_FACTOR = 0.7
IMPORT_FACTOR = 0.6
NEIGHBOUR_STEPS = 1
#: Maximum number of chunks added to the hits; eight hits with a neighbour on each side take 16.
MAX_ADDED = 60

_ORDER: tuple[ReachedBy, ...] = ("hit", "neighbour", "sibling", "import")

#: Returns, for each of the chunks, the chunks reached from it, each with its number of steps, from 1.
Follow = Callable[[Sequence[str]], Mapping[str, Mapping[str, int]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedChunk:
    """A chunk, its score and the way it was reached."""

    chunk_id: HexId
    score: Score
    reached_by: ReachedBy = "hit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """A relation from a hit to other chunks; each step multiplies the hit's score by `factor`."""

    reached_by: ReachedBy
    factor: float
    follow: Follow


def expand(
    hits: Sequence[ReachedChunk], expansions: Iterable[Expansion], *, max_added: int = MAX_ADDED
) -> list[ReachedChunk]:
    """Return the hits and the best `max_added` chunks that are reached from them, best first.

    Only hits are expanded. A chunk reached twice has its best score; a hit stays a hit and is never lowered.
    Ties: hits, neighbours, siblings, imports, then by chunk id.
    """
    found: dict[str, ReachedChunk] = {}
    for reached in hits:
        found[reached.chunk_id] = _merge_reached(found.get(reached.chunk_id), reached)
    for reached in _follow_expansions(tuple(found.values()), expansions):
        found[reached.chunk_id] = _merge_reached(found.get(reached.chunk_id), reached)
    ordered = sorted(found.values(), key=_sort_key)
    added = [reached for reached in ordered if reached.reached_by != "hit"]
    left_out = {reached.chunk_id for reached in added[max_added:]}
    return [reached for reached in ordered if reached.chunk_id not in left_out]


def _follow_expansions(
    hits: Sequence[ReachedChunk], expansions: Iterable[Expansion]
) -> Iterator[ReachedChunk]:
    chunk_ids = [hit.chunk_id for hit in hits]
    for expansion in expansions:
        links = expansion.follow(chunk_ids)
        for hit in hits:
            for chunk_id, steps in links.get(hit.chunk_id, {}).items():
                score = hit.score * expansion.factor**steps
                yield ReachedChunk(chunk_id=chunk_id, score=score, reached_by=expansion.reached_by)


def _merge_reached(known: ReachedChunk | None, reached: ReachedChunk) -> ReachedChunk:
    if known is None:
        return reached
    best = min(known, reached, key=_sort_key)
    return replace(best, reached_by="hit") if known.reached_by == "hit" else best


def _sort_key(reached: ReachedChunk) -> tuple[float, int, str]:
    return -reached.score, _ORDER.index(reached.reached_by), reached.chunk_id
