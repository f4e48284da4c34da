"""Checks of the reranker for Django's system checks, the start of the stack and `kebab doctor`."""

import time
from typing import Any

from django.core import checks

from kebab.health.checks import CheckResult, CheckStatus
from search.endpoints.checks import problem_errors, problem_result
from search.endpoints.configured_endpoint import describe_problems
from search.rerank.configured import make_scorer
from search.rerank.options import NONE, RerankOptions
from search.retrieval.errors import RerankerUnavailable

_NAME = "reranker"
# Longer than KEBAB_RERANK_LIMIT_MS of a search, as the model may have to load.
_LIMIT_S = 30.0


def check_settings(**_: Any) -> list[checks.CheckMessage]:
    """Return an error for each invalid setting of the reranker."""
    return problem_errors(RerankOptions.from_settings().problems(), "search.E001")


def refuse_wrong_settings() -> None:
    """Refuse to start the stack with invalid settings. Raises: RerankerUnavailable."""
    problems = RerankOptions.from_settings().problems()
    if problems:
        raise RerankerUnavailable(describe_problems(problems))


def check_reranker(repair: bool) -> CheckResult:
    """Let the reranker score one passage; a failure is only a warning, as searches work without it."""
    options = RerankOptions.from_settings()
    problems = options.problems()
    if problems:
        return problem_result(_NAME, problems)
    if options.kind == NONE:
        return CheckResult(name=_NAME, status=CheckStatus.OK, detail="none is configured")
    return _score_test_passage(options)


def _score_test_passage(options: RerankOptions) -> CheckResult:
    scorer = make_scorer(options)
    started = time.perf_counter()
    try:
        scorer.score("ready", ["ready"], limit_s=_LIMIT_S)
    except RerankerUnavailable as error:
        return CheckResult(name=_NAME, status=CheckStatus.WARNING, detail=str(error), remedy=error.remedy)
    finally:
        scorer.close()
    elapsed_ms = (time.perf_counter() - started) * 1000
    return CheckResult(
        name=_NAME, status=CheckStatus.OK, detail=f"{options.kind} scored a passage in {elapsed_ms:.0f} ms"
    )
