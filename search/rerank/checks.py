"""What Django's system checks, the start of the stack and `kebab doctor` say about the reranker."""

import time
from typing import Any

from django.core import checks

from kebab.observability.health.checks import CheckResult, CheckStatus
from search.rerank.configured import make_scorer
from search.rerank.options import NONE, RerankOptions, problems
from search.retrieval.errors import RerankerUnavailable

_NAME = "reranker"
# A search waits KEBAB_RERANK_LIMIT_MS; here a model may take its time to be read.
_LIMIT_S = 30.0


def check_settings(**_: Any) -> list[checks.CheckMessage]:
    """Return an error for each setting of the reranker that can't be right."""
    return [
        checks.Error(found.message, hint=found.remedy, obj=found.setting, id="search.E001")
        for found in problems(RerankOptions.from_settings())
    ]


def refuse_wrong_settings() -> None:
    """Have the stack not start with settings that can't be right. Raises: RerankerUnavailable."""
    found = problems(RerankOptions.from_settings())
    if found:
        raise RerankerUnavailable("; ".join(f"{each.message}. {each.remedy}" for each in found))


def check_reranker(repair: bool) -> CheckResult:
    """Have the reranker score one passage; searches go on without it, so that its loss is a warning."""
    options = RerankOptions.from_settings()
    wrong = problems(options)
    if wrong:
        return CheckResult(
            name=_NAME,
            status=CheckStatus.FAILED,
            detail="; ".join(each.message for each in wrong),
            remedy=" ".join(each.remedy for each in wrong),
        )
    if options.kind == NONE:
        return CheckResult(name=_NAME, status=CheckStatus.OK, detail="none is configured")
    return _scored(options)


def _scored(options: RerankOptions) -> CheckResult:
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
