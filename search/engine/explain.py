"""How a list came about, for people who ask: the rule, each leg's list before fusion, and the time."""

from collections.abc import Mapping, Sequence

from search.mirror.query.lexical import Match
from search.retrieval.fusion.pipeline import Ranked
from search.retrieval.fusion.post_fusion import AfterFusion
from search.retrieval.fusion.rrf import Fused
from search.retrieval.types import Candidate

# What separates index terms in an expression.
_READABLE = {0x1D: None, 0x1E: " ", 0x1F: "|"}


def explanation(
    match: Match | None, ranked: Ranked, after: AfterFusion, *, weights: Mapping[str, float], k_rrf: int
) -> dict[str, object]:
    """Return the explanation as JSON-ready values. Nothing in it is hidden from the caller."""
    return {
        "match": None if match is None else _rule(match),
        "legs": {name: _listed(candidates) for name, candidates in ranked.lists.items()},
        "rrf": {"k": k_rrf, "weights": dict(weights)},
        "fused": [_fused(found, ranked, weights, k_rrf) for found in ranked.fused],
        "over_cap": list(after.over_cap),
        "below_cutoff": list(after.below_cutoff),
        "timings_ms": {stage: round(ms, 3) for stage, ms in ranked.timings_ms.items()},
    }


def _rule(match: Match) -> dict[str, object]:
    return {
        "every": match.every.translate(_READABLE),
        "some": match.some.translate(_READABLE),
        "raw": match.is_raw,
    }


def _fused(found: Fused, ranked: Ranked, weights: Mapping[str, float], k_rrf: int) -> dict[str, object]:
    """Return the terms of reciprocal rank fusion, or the scores that convex fusion scaled."""
    placed = {"chunk_id": found.chunk_id, "score": found.score, "ranks": dict(found.ranks)}
    if ranked.scores:
        known = {
            name: scores[found.chunk_id] for name, scores in ranked.scores.items() if found.chunk_id in scores
        }
        return {**placed, "scores": known}
    terms = {name: weights[name] / (k_rrf + rank) for name, rank in found.ranks.items()}
    return {**placed, "rrf_terms": terms}


def _listed(candidates: Sequence[Candidate]) -> list[dict[str, object]]:
    return [
        {"rank": rank, "chunk_id": c.chunk_id, "score": c.score, "tier": c.tier}
        for rank, c in enumerate(candidates, start=1)
    ]
