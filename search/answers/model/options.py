"""Settings of the chat model and their validation."""

from dataclasses import dataclass
from typing import Final

from django.conf import settings

from search.endpoints.configured_endpoint import ConfiguredEndpoint, SettingProblem
from search.endpoints.settings import answer_endpoint

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
