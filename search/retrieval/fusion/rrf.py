"""Reciprocal rank fusion.

`raw(c) = Σ w_m / (k + rank_m(c))`, ranks from 1, an absent list contributing nothing; normalised by the
score of first place in every list. G. V. Cormack, C. L. A. Clarke and S. Büttcher, "Reciprocal Rank
Fusion outperforms Condorcet and individual Rank Learning Methods", SIGIR 2009.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

RRF_K = 60
_LEXICAL = "lexical"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedList:
    """A list to fuse, best first; an empty one counts too. Raises: ValueError if weight <= 0."""

    name: str
    weight: float = 1.0
    chunk_ids: Sequence[str]

    def __post_init__(self) -> None:
        if not (self.weight > 0 and math.isfinite(self.weight)):
            raise ValueError(
                f"The list {self.name} has weight {self.weight}; leave it out, or give it a positive one."
            )


class FusedChunk(NamedTuple):
    """A chunk with its fused score, in [0, 1], and its rank, from 1, in each list that holds it."""

    chunk_id: str
    score: float
    ranks: Mapping[str, int]


def reciprocal_rank_fusion(lists: Sequence[RankedList], k_rrf: int = RRF_K) -> list[FusedChunk]:
    """Fuse the lists. Order: score descending, lexical rank ascending (absent last), chunk id ascending.

    A chunk that one list holds twice counts at its first rank. Sums are exact (`math.fsum`), so the order
    of the lists changes nothing. Raises: ValueError when two lists have the same name.
    """
    weights = {ranked.name: ranked.weight for ranked in lists}
    if len(weights) < len(lists):
        raise ValueError(
            f"Two of the lists {[ranked.name for ranked in lists]} have one name; name them apart."
        )
    best_possible = math.fsum(weight / (k_rrf + 1) for weight in weights.values())
    fused = [
        FusedChunk(
            chunk_id=chunk_id,
            score=math.fsum(weights[name] / (k_rrf + rank) for name, rank in ranks.items()) / best_possible,
            ranks=ranks,
        )
        for chunk_id, ranks in ranks_by_chunk(lists).items()
    ]
    return sorted(fused, key=fused_sort_key)


def ranks_by_chunk(lists: Sequence[RankedList]) -> dict[str, dict[str, int]]:
    """Return the rank, from 1, of each chunk in each list that holds it; the first of duplicates."""
    ranks: dict[str, dict[str, int]] = {}
    for ranked in lists:
        for rank, chunk_id in enumerate(dict.fromkeys(ranked.chunk_ids), start=1):
            ranks.setdefault(chunk_id, {})[ranked.name] = rank
    return ranks


def fused_sort_key(fused: FusedChunk) -> tuple[float, float, str]:
    """Return the key that sorts a fused list: best score first, ties by lexical rank, then by chunk id."""
    return -fused.score, fused.ranks.get(_LEXICAL, math.inf), fused.chunk_id
