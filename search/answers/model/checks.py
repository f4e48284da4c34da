"""Checks of the chat model for Django's system checks, the start of the stack and `kebab doctor`."""

from typing import Any

from django.core import checks

from kebab.health.checks import CheckResult, CheckStatus
from search.answers.errors import ModelFailed
from search.answers.model.configured import chat_model
from search.answers.model.options import AnswerOptions
from search.answers.types import AnswerReason
from search.endpoints.checks import problem_errors, problem_result
from search.endpoints.configured_endpoint import describe_problems

_NAME = "answers"
_PROBE_MESSAGES = [{"role": "user", "content": "Answer with the word: ready"}]


def check_settings(**_: Any) -> list[checks.CheckMessage]:
    """Return an error for each invalid setting of the model."""
    return problem_errors(AnswerOptions.from_settings().problems(), "search.E003")


def refuse_wrong_settings() -> None:
    """Refuse to start the stack with invalid settings. Raises: ModelFailed."""
    problems = AnswerOptions.from_settings().problems()
    if problems:
        details = describe_problems(problems)
        raise ModelFailed(AnswerReason.MODEL_UNAVAILABLE, f"is not configured right: {details}")


def check_model(repair: bool) -> CheckResult:
    """Ask the model for one word. A failure is a warning, because answers without it fail with a reason."""
    problems = AnswerOptions.from_settings().problems()
    if problems:
        return problem_result(_NAME, problems)
    model = chat_model()
    if model is None:
        detail = "no model is configured; answers are the documents' own sentences"
        return CheckResult(name=_NAME, status=CheckStatus.OK, detail=detail)
    try:
        list(model.answer(_PROBE_MESSAGES, lambda: None))
    except ModelFailed as error:
        return CheckResult(name=_NAME, status=CheckStatus.WARNING, detail=str(error), remedy=error.remedy)
    return CheckResult(name=_NAME, status=CheckStatus.OK, detail=f"{model.name} answered")
