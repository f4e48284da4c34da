"""Checks of the chat model for Django's system checks, the start of the stack and `kebab doctor`."""

from typing import Any

from django.core import checks

from kebab.observability.health.checks import CheckResult, CheckStatus
from search.answers.errors import ModelFailed
from search.answers.model.configured import configured_model
from search.answers.model.options import AnswerOptions, problems
from search.answers.types import AnswerReason

_NAME = "answers"
_PROBE_MESSAGES = [{"role": "user", "content": "Answer with the word: ready"}]


def check_settings(**_: Any) -> list[checks.CheckMessage]:
    """Return an error for each invalid setting of the model."""
    return [
        checks.Error(found.message, hint=found.remedy, obj=found.setting, id="search.E003")
        for found in problems(AnswerOptions.from_settings())
    ]


def refuse_wrong_settings() -> None:
    """Refuse to start the stack with invalid settings. Raises: ModelFailed."""
    found = problems(AnswerOptions.from_settings())
    if found:
        details = "; ".join(f"{each.message}. {each.remedy}" for each in found)
        raise ModelFailed(AnswerReason.MODEL_UNAVAILABLE, f"is not configured right: {details}")


def check_model(repair: bool) -> CheckResult:
    """Ask the model for one word. A failure is a warning, because answers without it fail with a reason."""
    options = AnswerOptions.from_settings()
    wrong = problems(options)
    if wrong:
        return CheckResult(
            name=_NAME,
            status=CheckStatus.FAILED,
            detail="; ".join(each.message for each in wrong),
            remedy=" ".join(each.remedy for each in wrong),
        )
    model = configured_model()
    if model is None:
        detail = "no model is configured; answers are the documents' own sentences"
        return CheckResult(name=_NAME, status=CheckStatus.OK, detail=detail)
    try:
        list(model.answer(_PROBE_MESSAGES, lambda: None))
    except ModelFailed as error:
        return CheckResult(name=_NAME, status=CheckStatus.WARNING, detail=str(error), remedy=error.remedy)
    return CheckResult(name=_NAME, status=CheckStatus.OK, detail=f"{model.name} answered")
