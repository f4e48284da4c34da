"""Convex fusion: the mean of the legs' scores, each scaled over the candidates.

`z_m(c)` is the score `s_m(c)` less the mean of the leg's scores, in standard deviations of them, over the
candidates of all legs: a leg that can't tell its candidates apart moves none of them. `exp(z / 3)` lets the
best of a leg stand out further than a middling one. Then

    fused(c) = Σ share_m · exp(z_m(c) / 3) / Σ share_m · max exp(z_m / 3)

That means of normalised scores do better than ranks: S. Bruch, S. Gai and A. Ingber, "An Analysis of Fusion
Functions for Hybrid Retrieval", ACM TOIS 42 (2023). Shares and scale were measured on six sets
(docs/evaluation/fusion.md).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from search.retrieval.fusion import RRF_K, Fused, RankedList, fused_order, ranks_by_chunk

#: How far each leg is relied on; of 0.6, 0.65, …, 0.85 for the vector leg 0.7 was best over the sets.
SHARES: Final[Mapping[str, float]] = MappingProxyType({"lexical": 0.3, "vector": 0.7})
_SPREAD = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredList:
    """A list that takes part, best first, with what its leg says of every candidate of any list."""

    name: str
    #: Multiplies the leg's share.
    weight: float = 1.0
    chunk_ids: Sequence[str]
    #: Any scale, higher is better; a candidate that is missing is one whose score isn't known.
    scores: Mapping[str, float]


def convex_combination(
    scored: Sequence[ScoredList], ranked: Sequence[RankedList] = (), k_rrf: int = RRF_K
) -> list[Fused]:
    """Fuse the lists. Order: score descending, lexical rank ascending (absent last), chunk id ascending.

    Lists that have places and no scores, `ranked`, are averaged in with what reciprocal rank fusion gives
    their places. Scores lie in [0, 1]; the order of the lists changes nothing.
    """
    places = [RankedList(name=each.name, weight=each.weight, chunk_ids=each.chunk_ids) for each in scored]
    ranks = ranks_by_chunk([*places, *ranked])
    candidates = sorted(ranks)
    means = _means(scored, candidates)
    weight = math.fsum(each.weight for each in scored)
    whole = math.fsum([weight, *(each.weight for each in ranked)])
    fused = []
    for chunk_id in candidates:
        placed = [_of_place(each, ranks[chunk_id], k_rrf) for each in ranked]
        score = min(1.0, math.fsum([weight * means[chunk_id], *placed]) / whole)
        fused.append(Fused(chunk_id=chunk_id, score=score, ranks=ranks[chunk_id]))
    return sorted(fused, key=fused_order)


def _means(scored: Sequence[ScoredList], candidates: Sequence[str]) -> dict[str, float]:
    """Give the weighted mean of the scaled scores, as a share of what the best of every list would have."""
    columns = [(SHARES[each.name] * each.weight, _scaled(each.scores, candidates)) for each in scored]
    best = math.fsum(share * max(column.values(), default=1.0) for share, column in columns)
    return {
        chunk_id: math.fsum(share * column[chunk_id] for share, column in columns) / best
        for chunk_id in candidates
    }


def _scaled(scores: Mapping[str, float], candidates: Sequence[str]) -> dict[str, float]:
    """Give `exp(z / 3)` of each candidate: 1 for one whose score isn't known, or is the mean."""
    known = [scores[chunk_id] for chunk_id in candidates if chunk_id in scores]
    mean = math.fsum(known) / len(known) if known else 0.0
    deviation = math.sqrt(math.fsum((score - mean) ** 2 for score in known) / len(known)) if known else 0.0
    if deviation <= abs(mean) * _ROUNDING:
        return dict.fromkeys(candidates, 1.0)
    return {
        chunk_id: math.exp((scores.get(chunk_id, mean) - mean) / (_SPREAD * deviation))
        for chunk_id in candidates
    }


# Equal scores differ from their mean by what rounding leaves: that is no deviation.
_ROUNDING = 1e-12


def _of_place(ranked: RankedList, ranks: Mapping[str, int], k_rrf: int) -> float:
    rank = ranks.get(ranked.name)
    return 0.0 if rank is None else ranked.weight * (k_rrf + 1) / (k_rrf + rank)
