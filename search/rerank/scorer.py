"""Protocol of the model or endpoint in a reranker, without time limit and circuit breaker."""

from collections.abc import Sequence
from typing import Protocol

from search.retrieval.errors import RerankerUnavailable


class Scorer(Protocol):
    """A scorer of passages within a time limit; safe to call from several threads."""

    @property
    def name(self) -> str:
        """Return the name for the log."""
        ...

    @property
    def gives_logits(self) -> bool:
        """Return whether the scores are logits, of any size; else they lie in [0, 1]."""
        ...

    def score(self, query: str, passages: Sequence[str], *, limit_s: float) -> list[float]:
        """Return the passages' scores, in order, higher is better; it stops soon after `limit_s` seconds.

        Raises: RerankerUnavailable.
        """
        ...

    def close(self) -> None:
        """Release connections and memory; later calls of `score` still work."""
        ...


def time_limit_error(limit_s: float) -> RerankerUnavailable:
    """Return the error for scores that did not come within the limit."""
    return RerankerUnavailable(
        f"the reranker did not answer within {limit_s:g} s",
        remedy="A higher KEBAB_RERANK_LIMIT_MS gives it longer.",
    )
