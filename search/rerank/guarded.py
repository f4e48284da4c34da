"""A reranker that answers or fails within its limit, and is left alone while it is dead."""

from collections.abc import Sequence
from concurrent.futures import Executor

from kebab.observability import tracing
from search.endpoints.circuit_breaker import Breaker
from search.rerank.scorer import Scorer, out_of_time
from search.retrieval.fusion.rerank import checked_scores

#: Characters of a query, and of a passage, that are read; a cross-encoder reads some 2,000 of both together.
MAX_QUERY_CHARS = 1_000
MAX_PASSAGE_CHARS = 2_000


class GuardedReranker:
    """Has `scorer` score in a thread of `executor`, and waits for it no longer than `limit_s` seconds.

    A scorer that is stuck, in DNS or in a model, holds a thread of the executor, never a request.
    """

    def __init__(self, scorer: Scorer, *, limit_s: float, breaker: Breaker, executor: Executor) -> None:
        self._scorer = scorer
        self._limit_s = limit_s
        self._breaker = breaker
        self._executor = executor

    @property
    def name(self) -> str:
        """Return the scorer's."""
        return self._scorer.name

    @property
    def gives_logits(self) -> bool:
        """Return whether the scorer's scores are logits."""
        return self._scorer.gives_logits

    def rerank(self, query: str, passages: Sequence[str]) -> list[float]:
        """Return the passages' scores, checked, in order. Raises: RerankerUnavailable, at the limit
        at last.
        """
        read = [passage[:MAX_PASSAGE_CHARS] for passage in passages]
        with tracing.span("search.rerank", passages=len(read)), self._breaker.attempt():
            scores = self._within_limit(query[:MAX_QUERY_CHARS], read)
            return checked_scores(scores, len(read), self.gives_logits)

    def _within_limit(self, query: str, passages: Sequence[str]) -> list[float]:
        future = self._executor.submit(self._scorer.score, query, passages, limit_s=self._limit_s)
        try:
            return future.result(self._limit_s)
        except TimeoutError as error:
            future.cancel()
            raise out_of_time(self._limit_s) from error
