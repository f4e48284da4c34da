"""Construction of the reranker from the settings."""

from collections.abc import Sequence
from concurrent.futures import Executor
from functools import cache
from pathlib import Path

from django.conf import settings

from kebab.observability import tracing
from kebab.runtime.context_executor import ContextExecutor
from search.endpoints.circuit_breaker import CircuitBreaker
from search.rerank.local import LocalScorer
from search.rerank.options import LOCAL, NONE, RerankOptions
from search.rerank.scorer import Scorer, time_limit_error
from search.retrieval.deadline import is_over, seconds_left
from search.retrieval.errors import RerankerUnavailable
from search.retrieval.fusion.rerank import Reranker, check_scores

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


@cache
def reranker() -> Reranker | None:
    """Return this process's reranker, built from the settings, None if `KEBAB_RERANKER` is `none`.

    With invalid settings return one that always fails with a message, as a search must survive it.
    """
    options = RerankOptions.from_settings()
    if options.kind == NONE:
        return None
    scorer = make_scorer(options)
    threads = ContextExecutor(settings.KEBAB_WEB_THREADS, thread_name_prefix="rerank")
    breaker = CircuitBreaker("the reranker", RerankerUnavailable)
    return GuardedReranker(scorer, limit_s=options.endpoint.limit_s, breaker=breaker, executor=threads)


def make_scorer(options: RerankOptions) -> Scorer:
    """Return the scorer: a local model, an endpoint, or one that always fails for invalid settings."""
    if options.problems():
        return _MisconfiguredScorer()
    if options.kind == LOCAL:
        return LocalScorer(Path(options.endpoint.model).expanduser(), threads=settings.KEBAB_EMBED_THREADS)
    # Imported late: the HTTP client takes 0.1 s and 6 MB, which other processes save.
    from search.rerank.endpoint import make_endpoint_scorer

    return make_endpoint_scorer(options)


class _MisconfiguredScorer:
    name = "reranker"
    gives_logits = False

    def score(self, query: str, passages: Sequence[str], *, limit_s: float) -> list[float]:
        raise RerankerUnavailable("the reranker's settings are wrong", remedy="Run: kebab doctor")

    def close(self) -> None:
        pass
