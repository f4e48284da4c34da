"""The chat model of the settings: their validation, its check and its construction."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Final, Protocol

from django.conf import settings
from django.core import checks

from kebab.health.checks import CheckResult, CheckStatus
from search.answers.prompt import Message
from search.answers.types import AnswerReason, Usage
from search.endpoints.checks import problem_errors, problem_result
from search.endpoints.circuit_breaker import CircuitBreaker
from search.endpoints.configured_endpoint import ConfiguredEndpoint, SettingProblem, describe_problems
from search.endpoints.settings import answer_endpoint
from search.retrieval.errors import SearchError


class ModelFailed(SearchError):
    """The model gave no complete answer.

    The message names no question, address or key; `remedy` is for the log. Without `is_fault` the model is
    healthy: it refused the request, or the caller has stopped waiting.
    """

    code: ClassVar[str] = "model_failed"
    status: ClassVar[int] = 503

    def __init__(
        self, reason: AnswerReason, message: str, *, remedy: str = "", is_fault: bool = True
    ) -> None:
        """`message` completes a sentence whose subject is the model."""
        super().__init__(f"the model {message}")
        self.reason = reason
        self.remedy = remedy
        self.is_fault = is_fault


#: Least context of a model: a passage or two must fit in addition to the instructions.
MIN_CONTEXT_TOKENS: Final = 1_500


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """The settings of the model, not yet validated."""

    endpoint: ConfiguredEndpoint
    #: Size of the context, prompt and answer together.
    context_tokens: int
    #: Whether the answer is requested as a stream.
    streams: bool

    @classmethod
    def from_settings(cls) -> "AnswerOptions":
        """Return the options of the Django settings, valid or not."""
        return cls(
            endpoint=answer_endpoint(),
            context_tokens=settings.KEBAB_ANSWER_CONTEXT_TOKENS,
            streams=settings.KEBAB_ANSWER_STREAM,
        )

    @property
    def is_unconfigured(self) -> bool:
        """Return whether no model is configured, so that answers are extractive."""
        return not self.endpoint.url and not self.endpoint.model

    def problems(self) -> list[SettingProblem]:
        """Return the problems of the settings that can be found without a network."""
        if self.is_unconfigured:
            return []
        problems = self.endpoint.problems()
        if self.context_tokens < MIN_CONTEXT_TOKENS:
            remedy = f"Give what the model reads and writes together, at least {MIN_CONTEXT_TOKENS} tokens."
            fault = f"is {self.context_tokens}"
            problems.append(SettingProblem("KEBAB_ANSWER_CONTEXT_TOKENS", fault, remedy))
        return problems


class ChatModel(Protocol):
    """A model that writes an answer from chat messages."""

    @property
    def name(self) -> str:
        """Return the model's name."""
        ...

    @property
    def context_tokens(self) -> int:
        """Return the size of the context, prompt and answer together, in tokens."""
        ...

    def answer(self, messages: Sequence[Message], on_wait: Callable[[], None]) -> Generator[str | Usage]:
        """Yield the pieces of the text and the token usage. Raises ModelFailed and errors of `on_wait`."""
        ...


@cache
def chat_model() -> ChatModel | None:
    """Return this process's model, built from the settings; None when they name none.

    With invalid settings it returns a model whose every call fails as misconfigured.
    """
    options = AnswerOptions.from_settings()
    if options.is_unconfigured:
        return None
    if options.problems():
        return _Misconfigured(options)
    # Importing the SDK takes 0.7 s and 30 MB, so only processes that ask a model do it.
    from search.answers.model.chat_model import EndpointModel

    return EndpointModel(options, CircuitBreaker("the model", _unavailable_error))


def _unavailable_error(message: str) -> ModelFailed:
    return ModelFailed(AnswerReason.MODEL_UNAVAILABLE, message.removeprefix("the model "))


class _Misconfigured:
    def __init__(self, options: AnswerOptions) -> None:
        self.name = options.endpoint.model
        self.context_tokens = options.context_tokens

    def answer(self, messages: Sequence[Message], on_wait: Callable[[], None]) -> Generator[str | Usage]:
        raise ModelFailed(
            AnswerReason.MODEL_UNAVAILABLE, "is not configured right", remedy="Run: kebab doctor"
        )


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
