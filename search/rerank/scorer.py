"""What a model or an endpoint has to do to be a reranker; limit and breaker come around it."""

from collections.abc import Sequence
from typing import Protocol

from search.retrieval.errors import RerankerUnavailable


class Scorer(Protocol):
    """Scores passages within a time; safe to call from several threads."""

    @property
    def name(self) -> str:
        """Return how the log names it."""
        ...

    @property
    def gives_logits(self) -> bool:
        """Return whether its scores are logits, of any size; else they lie in [0, 1]."""
        ...

    def score(self, query: str, passages: Sequence[str], *, limit_s: float) -> list[float]:
        """Return the passages' scores, in order, higher is better; it stops soon after `limit_s` seconds.

        Raises: RerankerUnavailable.
        """
        ...

    def close(self) -> None:
        """Let go of connections and memory; it may score again."""
        ...


def out_of_time(limit_s: float) -> RerankerUnavailable:
    """Return the error for scores that did not come within the limit."""
    return RerankerUnavailable(
        f"the reranker did not answer within {limit_s:g} s",
        remedy="A higher KEBAB_RERANK_LIMIT_MS gives it longer.",
    )
