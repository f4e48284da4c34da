"""How a list came about, for people who ask: the rule, each leg's list before fusion, and the time."""

from collections.abc import Sequence

from search.mirror.lexical import Match
from search.retrieval.pipeline import Ranked
from search.retrieval.types import Candidate


def explanation(match: Match | None, ranked: Ranked) -> dict[str, object]:
    """Give the explanation as JSON-ready values. Nothing in it is hidden from the caller."""
    return {
        "match": None if match is None else {"every": match.every, "some": match.some, "raw": match.is_raw},
        "legs": {name: _listed(candidates) for name, candidates in ranked.lists.items()},
        "fused": [{"chunk_id": f.chunk_id, "score": f.score, "ranks": dict(f.ranks)} for f in ranked.fused],
        "timings_ms": {stage: round(ms, 3) for stage, ms in ranked.timings_ms.items()},
    }


def _listed(candidates: Sequence[Candidate]) -> list[dict[str, object]]:
    return [
        {"rank": rank, "chunk_id": c.chunk_id, "score": c.score, "tier": c.tier}
        for rank, c in enumerate(candidates, start=1)
    ]
