"""The reranker of this process, as the settings name it."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from django.conf import settings

from kebab.runtime.context_executor import ContextThreads
from search.endpoints.circuit_breaker import Breaker
from search.rerank.guarded import GuardedReranker
from search.rerank.local import LocalScorer
from search.rerank.options import LOCAL, NONE, RerankOptions, problems
from search.rerank.scorer import Scorer
from search.retrieval.errors import RerankerUnavailable
from search.retrieval.fusion.rerank import Reranker


@cache
def configured_reranker() -> Reranker | None:
    """Return this process's reranker, None when `KEBAB_RERANKER` is `none`.

    With settings that can't be right it gives one that always fails and says so: a search must survive it.
    """
    options = RerankOptions.from_settings()
    if options.kind == NONE:
        return None
    scorer = make_scorer(options)
    threads = ContextThreads(settings.KEBAB_WEB_THREADS, thread_name_prefix="rerank")
    breaker = Breaker("the reranker", RerankerUnavailable)
    return GuardedReranker(scorer, limit_s=options.limit_ms / 1000, breaker=breaker, executor=threads)


def make_scorer(options: RerankOptions) -> Scorer:
    """Return what computes the scores: a local model, an endpoint, or one that says what is wrong."""
    if problems(options):
        return _Misconfigured()
    if options.kind == LOCAL:
        return LocalScorer(Path(options.model).expanduser(), threads=settings.KEBAB_EMBED_THREADS)
    return _endpoint_scorer(options)


def _endpoint_scorer(options: RerankOptions) -> Scorer:
    # The HTTP client takes 0.1 s and 6 MB: a process that reranks nothing does without it.
    from search.rerank.endpoint import make_endpoint_scorer

    return make_endpoint_scorer(options)


class _Misconfigured:
    name = "reranker"
    gives_logits = False

    def score(self, query: str, passages: Sequence[str], *, limit_s: float) -> list[float]:
        raise RerankerUnavailable("the reranker's settings are wrong", remedy="Run: kebab doctor")

    def close(self) -> None:
        pass
