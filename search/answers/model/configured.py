"""The model of this process, as the settings name it."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Protocol

from search.answers.errors import ModelFailed
from search.answers.model.options import AnswerOptions, problems
from search.answers.prompt import Message
from search.answers.types import AnswerReason, Usage
from search.endpoints.circuit_breaker import Breaker


class ChatModel(Protocol):
    """What writes an answer from messages."""

    @property
    def name(self) -> str:
        """Return its name."""
        ...

    @property
    def context_tokens(self) -> int:
        """Return what it reads and writes together."""
        ...

    def answer(self, messages: Sequence[Message], on_wait: Callable[[], None]) -> Iterator[str | Usage]:
        """Return the pieces of its text, and what it counted. Raises ModelFailed, and what `on_wait` does."""
        ...


@cache
def configured_model() -> ChatModel | None:
    """Return this process's model, None when the settings name none.

    With settings that can't be right it gives one that always fails and says so.
    """
    options = AnswerOptions.from_settings()
    if options.are_none:
        return None
    if problems(options):
        return _Misconfigured(options)
    # The SDK takes 0.7 s and 30 MB: a process that asks no model does without it.
    from search.answers.model.chat_model import EndpointModel

    return EndpointModel(options, Breaker("the model", _left_alone))


def _left_alone(message: str) -> ModelFailed:
    return ModelFailed(AnswerReason.MODEL_UNAVAILABLE, message.removeprefix("the model "))


class _Misconfigured:
    def __init__(self, options: AnswerOptions) -> None:
        self.name = options.model
        self.context_tokens = options.context_tokens

    def answer(self, messages: Sequence[Message], on_wait: Callable[[], None]) -> Iterator[str | Usage]:
        raise ModelFailed(
            AnswerReason.MODEL_UNAVAILABLE, "is not configured right", remedy="Run: kebab doctor"
        )
