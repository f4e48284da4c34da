"""Chunks that help to understand the hits: what stands around them, beside them, and what they import.

a neighbour in the same document   score × 0.8 for each step
under the same breadcrumb parent   score × 0.7
in a file that a hit imports       score × 0.6
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

ReachedBy = Literal["hit", "neighbour", "sibling", "import"]

NEIGHBOUR_FACTOR = 0.8
SIBLING_FACTOR = 0.7
IMPORT_FACTOR = 0.6
NEIGHBOUR_STEPS = 1
#: How many chunks are added to the hits at most: eight hits with a neighbour on each side take 16.
MAX_ADDED = 60

_ORDER: tuple[ReachedBy, ...] = ("hit", "neighbour", "sibling", "import")

#: Gives for each of the chunks the others that are reached from it, each with its steps, from 1.
Follow = Callable[[Sequence[str]], Mapping[str, Mapping[str, int]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A chunk, its score in [0, 1] and how it came."""

    chunk_id: str
    score: float
    reached_by: ReachedBy = "hit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """One way from a hit to other chunks; each step multiplies the hit's score by `factor`."""

    reached_by: ReachedBy
    factor: float
    follow: Follow


def expand(
    hits: Sequence[Reached], expansions: Iterable[Expansion], *, max_added: int = MAX_ADDED
) -> list[Reached]:
    """Return the hits and the best `max_added` chunks that are reached from them, best first.

    Only hits lead on. A chunk reached twice has its best score; a hit stays a hit and is never lowered.
    Ties: hits, neighbours, siblings, imports, then by chunk id.
    """
    found: dict[str, Reached] = {}
    for reached in hits:
        found[reached.chunk_id] = _better(found.get(reached.chunk_id), reached)
    for reached in _all_reached(tuple(found.values()), expansions):
        found[reached.chunk_id] = _better(found.get(reached.chunk_id), reached)
    ordered = sorted(found.values(), key=_best_first)
    added = [reached for reached in ordered if reached.reached_by != "hit"]
    left_out = {reached.chunk_id for reached in added[max_added:]}
    return [reached for reached in ordered if reached.chunk_id not in left_out]


def _all_reached(hits: Sequence[Reached], expansions: Iterable[Expansion]) -> Iterator[Reached]:
    chunk_ids = [hit.chunk_id for hit in hits]
    for expansion in expansions:
        links = expansion.follow(chunk_ids)
        for hit in hits:
            for chunk_id, steps in links.get(hit.chunk_id, {}).items():
                score = hit.score * expansion.factor**steps
                yield Reached(chunk_id=chunk_id, score=score, reached_by=expansion.reached_by)


def _better(known: Reached | None, reached: Reached) -> Reached:
    if known is None:
        return reached
    best = min(known, reached, key=_best_first)
    return replace(best, reached_by="hit") if known.reached_by == "hit" else best


def _best_first(reached: Reached) -> tuple[float, int, str]:
    return -reached.score, _ORDER.index(reached.reached_by), reached.chunk_id
