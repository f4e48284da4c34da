"""Construction of the chat model from the settings."""

from collections.abc import Callable, Generator, Sequence
from functools import cache
from typing import Protocol

from search.answers.errors import ModelFailed
from search.answers.model.options import AnswerOptions
from search.answers.prompt import Message
from search.answers.types import AnswerReason, Usage
from search.endpoints.circuit_breaker import CircuitBreaker


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
