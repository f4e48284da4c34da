"""Explanation of a result: match expressions, each leg's list before fusion, and timings."""

from collections.abc import Mapping, Sequence

from search.mirror.query.lexical import Match
from search.retrieval.fusion.pipeline import Ranking
from search.retrieval.fusion.post_fusion import PostFusionResult
from search.retrieval.fusion.rrf import FusedChunk
from search.retrieval.types import Candidate

# Readable replacements of the separators between index terms in an expression.
_READABLE = {0x1D: None, 0x1E: " ", 0x1F: "|"}


def build_explanation(
    match: Match | None, ranked: Ranking, after: PostFusionResult, *, weights: Mapping[str, float], k_rrf: int
) -> dict[str, object]:
    """Return the explanation as JSON-ready values. Nothing in it is hidden from the caller."""
    return {
        "match": None if match is None else _describe_match(match),
        "legs": {name: _describe_list(candidates) for name, candidates in ranked.lists.items()},
        "rrf": {"k": k_rrf, "weights": dict(weights)},
        "fused": [_describe_fused(found, ranked, weights, k_rrf) for found in ranked.fused],
        "over_cap": list(after.over_cap),
        "below_cutoff": list(after.below_cutoff),
        "timings_ms": {stage: round(ms, 3) for stage, ms in ranked.timings_ms.items()},
    }


def _describe_match(match: Match) -> dict[str, object]:
    return {
        "every": match.every.translate(_READABLE),
        "some": match.some.translate(_READABLE),
        "raw": match.is_raw,
    }


def _describe_fused(
    found: FusedChunk, ranked: Ranking, weights: Mapping[str, float], k_rrf: int
) -> dict[str, object]:
    """Return the terms of reciprocal rank fusion, or the scores before the scaling of convex fusion."""
    common = {"chunk_id": found.chunk_id, "score": found.score, "ranks": dict(found.ranks)}
    if ranked.scores:
        known = {
            name: scores[found.chunk_id] for name, scores in ranked.scores.items() if found.chunk_id in scores
        }
        return {**common, "scores": known}
    terms = {name: weights[name] / (k_rrf + rank) for name, rank in found.ranks.items()}
    return {**common, "rrf_terms": terms}


def _describe_list(candidates: Sequence[Candidate]) -> list[dict[str, object]]:
    return [
        {"rank": rank, "chunk_id": c.chunk_id, "score": c.score, "tier": c.tier}
        for rank, c in enumerate(candidates, start=1)
    ]
