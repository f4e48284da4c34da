"""Settings of the chat model and their validation."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from django.conf import settings

from search.endpoints.options import SettingProblem, endpoint_problems, literal_hosts

#: Least context of a model: a passage or two must fit in addition to the instructions.
MIN_CONTEXT_TOKENS: Final = 1_500
# An attempt under an Idempotency-Key counts as dead after a minute.
MAX_LIMIT_S: Final = 55
_ENDPOINT = "/chat/completions"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """The settings of the model, not yet validated."""

    #: Base URL up to the version, as other clients of such endpoints take it: `http://127.0.0.1:8080/v1`.
    url: str
    model: str
    api_key: str = field(repr=False)
    #: Size of the context, prompt and answer together.
    context_tokens: int
    limit_s: int
    #: Whether the answer is requested as a stream.
    streams: bool
    #: Host names that may resolve to private addresses; an IP address or `localhost` in the URL is included.
    private_hosts: frozenset[str]

    @classmethod
    def from_settings(cls) -> "AnswerOptions":
        """Return the options of the Django settings, valid or not."""
        return cls(
            url=settings.KEBAB_ANSWER_URL.rstrip("/").removesuffix(_ENDPOINT),
            model=settings.KEBAB_ANSWER_MODEL,
            api_key=settings.KEBAB_ANSWER_API_KEY,
            context_tokens=settings.KEBAB_ANSWER_CONTEXT_TOKENS,
            limit_s=settings.KEBAB_ANSWER_LIMIT_S,
            streams=settings.KEBAB_ANSWER_STREAM,
            private_hosts=settings.KEBAB_PRIVATE_HOSTS | literal_hosts(settings.KEBAB_ANSWER_URL),
        )

    @property
    def is_unconfigured(self) -> bool:
        """Return whether no model is configured, so that answers are extractive."""
        return not self.url and not self.model


def problems(options: AnswerOptions) -> list[SettingProblem]:
    """Return the problems of the settings that can be found without a network."""
    return [] if options.is_unconfigured else [*_wrong_endpoint(options), *_wrong_model(options)]


def _wrong_endpoint(options: AnswerOptions) -> Iterator[SettingProblem]:
    examples = "http://127.0.0.1:8080/v1 or https://api.openai.com/v1"
    return endpoint_problems("KEBAB_ANSWER", options.url, options.api_key, examples=examples)


def _wrong_model(options: AnswerOptions) -> Iterator[SettingProblem]:
    if not options.model:
        yield SettingProblem(
            setting="KEBAB_ANSWER_MODEL",
            message="KEBAB_ANSWER_MODEL is not set, and KEBAB_ANSWER_URL is",
            remedy="Set it to the model to ask for.",
        )
    if options.context_tokens < MIN_CONTEXT_TOKENS:
        yield SettingProblem(
            setting="KEBAB_ANSWER_CONTEXT_TOKENS",
            message=f"KEBAB_ANSWER_CONTEXT_TOKENS is {options.context_tokens}",
            remedy=f"Give what the model reads and writes together, at least {MIN_CONTEXT_TOKENS} tokens.",
        )
    if not 1 <= options.limit_s <= MAX_LIMIT_S:
        yield SettingProblem(
            setting="KEBAB_ANSWER_LIMIT_S",
            message=f"KEBAB_ANSWER_LIMIT_S is {options.limit_s}",
            remedy=f"Give 1 to {MAX_LIMIT_S} seconds.",
        )
