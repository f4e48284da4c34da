"""Explanation of a result: match expressions, each leg's list before fusion, and timings."""

from collections.abc import Mapping, Sequence

from search.analysis.numbers import find_numbers, readable
from search.engine.why_not import SearchOutcome
from search.mirror.query.exact import ExactLeg
from search.mirror.query.match import Match
from search.retrieval.fusion.legs import TIERS, Leg, LegResult, unpack_ids
from search.retrieval.fusion.ranking import Ranking

# Readable replacements of the separators between index terms in an expression.
_READABLE = {0x1D: None, 0x1E: " ", 0x1F: "|"}


def build_explanation(outcome: SearchOutcome, text: str, *, k_rrf: int) -> dict[str, object]:
    """Return the explanation of a search for `text`, JSON-ready. Nothing in it is hidden from the caller."""
    match, after, ranked = outcome.match, outcome.after, outcome.found.ranked
    weights: dict[str, float] = {leg.name: leg.weight for leg in outcome.found.legs}
    completed = None if match is None else match.completed
    return {
        "numbers": [
            {"text": text[start:end], "kind": number.kind.value, "readings": list(readable(number))}
            for start, end, number in find_numbers(text)
        ],
        "match": None if match is None else _describe_match(match),
        "completed": completed and {"word": completed.term, "terms": list(completed.positions[0])},
        "legs": {name: _describe_list(found) for name, found in ranked.lists.items()},
        "rrf": {"k": k_rrf, "weights": dict(weights)},
        "fused": _describe_fused(ranked, weights, k_rrf),
        "below_floor": unpack_ids(ranked.below_floor),
        "over_cap": list(after.over_cap),
        "below_cutoff": list(after.below_cutoff),
        "timings_ms": {
            stage: round(ms, 3) for stage, ms in {**ranked.timings_ms, **after.timings_ms}.items()
        },
        "titled": _find_titled(outcome.found.legs, ranked),
    }


def _describe_match(match: Match) -> dict[str, object]:
    return {
        "every": match.every.translate(_READABLE),
        "some": match.some.translate(_READABLE),
        "raw": match.is_raw,
    }


def _describe_fused(ranked: Ranking, weights: Mapping[str, float], k_rrf: int) -> list[dict[str, object]]:
    """Return the terms of reciprocal rank fusion, or the scores before the scaling of convex fusion."""
    described = []
    scores = ranked.columns()["fusion_score"].tolist()
    for position, chunk_id in enumerate(unpack_ids(ranked.ids)):
        ranks = ranked.ranks_at(position)
        fused = {"chunk_id": chunk_id, "score": scores[position], "ranks": ranks}
        if ranked.known_scores:
            known = {name: float(column[position]) for name, column in ranked.known_scores.items()}
            fused["scores"] = {name: score for name, score in known.items() if score == score}
        else:
            fused["rrf_terms"] = {name: weights[name] / (k_rrf + rank) for name, rank in ranks.items()}
        described.append(fused)
    return described


def _describe_list(found: LegResult) -> list[dict[str, object]]:
    tiers = [0] * len(found.ids) if found.tiers is None else found.tiers.tolist()
    return [
        {"rank": rank, "chunk_id": chunk_id, "score": score, "tier": TIERS[tier]}
        for rank, (chunk_id, score, tier) in enumerate(
            zip(unpack_ids(found.ids), found.scores.tolist(), tiers, strict=True), start=1
        )
    ]


def _find_titled(legs: Sequence[Leg], ranked: Ranking) -> list[str]:
    """Return the candidates that are first chunks of documents with the query as their title."""
    titled = {id_ for leg in legs if isinstance(leg, ExactLeg) for id_ in leg.titled}
    return [id_ for id_ in unpack_ids(ranked.lists["exact"].ids) if id_ in titled] if titled else []
