"""Construction of the reranker from the settings."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from django.conf import settings

from kebab.runtime.context_executor import ContextExecutor
from search.endpoints.circuit_breaker import CircuitBreaker
from search.rerank.guarded import GuardedReranker
from search.rerank.local import LocalScorer
from search.rerank.options import LOCAL, NONE, RerankOptions
from search.rerank.scorer import Scorer
from search.retrieval.errors import RerankerUnavailable
from search.retrieval.fusion.rerank import Reranker


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
