"""What the settings say about the model that answers, and what is wrong in it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from django.conf import settings

from search.endpoints.options import Problem, literal_hosts, wrong_endpoint

#: Of a model's context: a passage or two must fit beside the instructions.
MIN_CONTEXT_TOKENS: Final = 1_500
# An attempt under an Idempotency-Key is taken for dead after a minute.
MAX_LIMIT_S: Final = 55
_ENDPOINT = "/chat/completions"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """The settings of the model as they were given."""

    #: Up to the version, as other clients of such endpoints take it: `http://127.0.0.1:8080/v1`.
    url: str
    model: str
    api_key: str = field(repr=False)
    #: What the model reads and writes together.
    context_tokens: int
    limit_s: int
    #: Whether the answer is asked for as a stream.
    streams: bool
    #: Names whose addresses may be private; in the URL, an address as such and `localhost` are among them.
    private_hosts: frozenset[str]

    @classmethod
    def from_settings(cls) -> "AnswerOptions":
        """Return what the settings say, right or wrong."""
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
    def are_none(self) -> bool:
        """Return whether no model is configured, so that answers are extractive."""
        return not self.url and not self.model


def problems(options: AnswerOptions) -> list[Problem]:
    """Return what is wrong with the settings, as far as that can be said without a network."""
    return [] if options.are_none else [*_wrong_endpoint(options), *_wrong_model(options)]


def _wrong_endpoint(options: AnswerOptions) -> Iterator[Problem]:
    examples = "http://127.0.0.1:8080/v1 or https://api.openai.com/v1"
    return wrong_endpoint("KEBAB_ANSWER", options.url, options.api_key, examples=examples)


def _wrong_model(options: AnswerOptions) -> Iterator[Problem]:
    if not options.model:
        yield Problem(
            setting="KEBAB_ANSWER_MODEL",
            message="KEBAB_ANSWER_MODEL is not set, and KEBAB_ANSWER_URL is",
            remedy="Set it to the model to ask for.",
        )
    if options.context_tokens < MIN_CONTEXT_TOKENS:
        yield Problem(
            setting="KEBAB_ANSWER_CONTEXT_TOKENS",
            message=f"KEBAB_ANSWER_CONTEXT_TOKENS is {options.context_tokens}",
            remedy=f"Give what the model reads and writes together, at least {MIN_CONTEXT_TOKENS} tokens.",
        )
    if not 1 <= options.limit_s <= MAX_LIMIT_S:
        yield Problem(
            setting="KEBAB_ANSWER_LIMIT_S",
            message=f"KEBAB_ANSWER_LIMIT_S is {options.limit_s}",
            remedy=f"Give 1 to {MAX_LIMIT_S} seconds.",
        )
