"""Reranker with a time limit and a circuit breaker."""

from collections.abc import Sequence
from concurrent.futures import Executor

from kebab.observability import tracing
from search.endpoints.circuit_breaker import CircuitBreaker
from search.rerank.scorer import Scorer, time_limit_error
from search.retrieval.deadline import is_over, seconds_left
from search.retrieval.errors import RerankerUnavailable
from search.retrieval.fusion.rerank import check_scores

#: Maximum characters of a query and of a passage; a cross-encoder reads some 2,000 of both together.
MAX_QUERY_CHARS = 1_000
MAX_PASSAGE_CHARS = 2_000


class GuardedReranker:
    """A reranker that runs `scorer` in a thread of `executor` and waits at most `limit_s` seconds.

    A scorer that hangs, in DNS or in a model, blocks a thread of the executor, never a request.
    """

    def __init__(
        self, scorer: Scorer, *, limit_s: float, breaker: CircuitBreaker, executor: Executor
    ) -> None:
        self._scorer = scorer
        self._limit_s = limit_s
        self._breaker = breaker
        self._executor = executor

    @property
    def name(self) -> str:
        """Return the name of the scorer."""
        return self._scorer.name

    @property
    def gives_logits(self) -> bool:
        """Return whether the scorer's scores are logits."""
        return self._scorer.gives_logits

    def rerank(self, query: str, passages: Sequence[str]) -> list[float]:
        """Return the checked scores of the passages, in order.

        Raises: RerankerUnavailable, at the time limit at the latest.
        """
        texts = [passage[:MAX_PASSAGE_CHARS] for passage in passages]
        with tracing.span("search.rerank", passages=len(texts)), self._breaker.attempt():
            scores = self._score_within_limit(query[:MAX_QUERY_CHARS], texts)
            return check_scores(scores, len(texts), self.gives_logits)

    def _score_within_limit(self, query: str, passages: Sequence[str]) -> list[float]:
        limit_s = min(self._limit_s, seconds_left())
        future = self._executor.submit(self._scorer.score, query, passages, limit_s=limit_s)
        try:
            return future.result(limit_s)
        except (TimeoutError, RerankerUnavailable) as error:
            future.cancel()
            if limit_s < self._limit_s and is_over():
                raise RerankerUnavailable("the time of the search was up", is_fault=False) from error
            if isinstance(error, RerankerUnavailable):
                raise
            raise time_limit_error(limit_s) from error
