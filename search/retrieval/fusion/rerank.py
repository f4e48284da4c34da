"""Rerank of the first candidates by a model that reads query and passage together."""

import logging
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from search.retrieval.errors import RerankerUnavailable
from search.retrieval.fusion.ranking import RankedEntry
from search.retrieval.types import RerankOutcome

logger = logging.getLogger(__name__)

NOT_CONFIGURED = RerankOutcome(
    status="fallback", reason="no reranker is configured; the operator sets one with KEBAB_RERANKER"
)
# A score of 1 in float32 may come out as 1.0000001.
_ROUNDING = 1e-6


class Reranker(Protocol):
    """A scorer of how well passages answer a query; safe to call from several threads."""

    @property
    def name(self) -> str:
        """Return the name for the log."""
        ...

    @property
    def gives_logits(self) -> bool:
        """Return whether the scores are logits, of any size; else they lie in [0, 1]."""
        ...

    def rerank(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        """Return the passages' scores, in order, higher is better. Raises: RerankerUnavailable."""
        ...


def rerank_entries(
    entries: Sequence[RankedEntry], passages: Sequence[str], query: str, reranker: Reranker | None
) -> tuple[tuple[RankedEntry, ...], RerankOutcome]:
    """Return the entries by rerank score, ties in their old order, ranks 1, 2, 3, …

    `passages` are the texts of the entries. On any failure return the entries unchanged and the outcome
    `fallback` with the reason, which names no query, address or path.
    """
    if reranker is None:
        return tuple(entries), NOT_CONFIGURED
    if not entries:
        return (), RerankOutcome(status="ok")
    if not query.strip():
        return tuple(entries), RerankOutcome(status="fallback", reason="the query for the reranker is blank")
    try:
        scores = check_scores(reranker.rerank(query, passages), len(entries), reranker.gives_logits)
    except RerankerUnavailable as error:
        logger.warning("%s: %s; the fused order stands. %s", reranker.name, error, error.remedy)
        return tuple(entries), RerankOutcome(status="fallback", reason=str(error))
    except Exception as error:  # a search must survive any failure of its reranker
        reason = f"the reranker failed ({type(error).__name__})"
        logger.warning("%s: %s; the fused order stands", reranker.name, reason)
        logger.debug("%s raised", reranker.name, exc_info=error)
        return tuple(entries), RerankOutcome(status="fallback", reason=reason)
    return _sort_by_score(entries, scores, reranker.gives_logits), RerankOutcome(status="ok")


def check_scores(scores: Sequence[float], n_passages: int, gives_logits: bool) -> list[float]:
    """Return the scores, one per passage. Raises: RerankerUnavailable for a wrong number or value."""
    if len(scores) != n_passages:
        raise RerankerUnavailable(f"the reranker gave {len(scores)} scores for {n_passages} passages")
    for score in scores:
        if not math.isfinite(score):
            raise RerankerUnavailable("the reranker gave a score that is not a finite number")
        if not gives_logits and not -_ROUNDING <= score <= 1 + _ROUNDING:
            raise RerankerUnavailable(f"the reranker gave the score {score:g}, which is not in [0, 1]")
    return list(scores)


def sigmoid(logit: float) -> float:
    """Return `1 / (1 + e^-logit)`, in [0, 1], for a finite logit of any size."""
    if logit >= 0:
        return 1 / (1 + math.exp(-logit))
    return math.exp(logit) / (1 + math.exp(logit))


def _sort_by_score(
    entries: Sequence[RankedEntry], scores: Sequence[float], are_logits: bool
) -> tuple[RankedEntry, ...]:
    # Sorted by the raw scores: logits above 37 all have the sigmoid 1.
    order = sorted(range(len(entries)), key=lambda index: -scores[index])
    return tuple(
        _rerank_entry(entries[index], rank, sigmoid(scores[index]) if are_logits else scores[index])
        for rank, index in enumerate(order, start=1)
    )


def _rerank_entry(entry: RankedEntry, rank: int, score: float) -> RankedEntry:
    score = min(max(0.0, score), 1.0)
    detail = replace(entry.retrieval, rerank_score=score, rerank_rank=rank)
    return replace(entry, rank=rank, score=score, retrieval=detail)
