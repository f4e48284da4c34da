"""What the settings say about the model that answers, and what is wrong in it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from kebab.outgoing.addresses import names_its_address
from search.rerank.options import Problem

#: Of a model's context: a passage or two must fit beside the instructions.
MIN_CONTEXT_TOKENS: Final = 1_500
# An attempt under an Idempotency-Key is taken for dead after a minute.
MAX_LIMIT_S: Final = 55
_HEADER_VALUE = re.compile(r"[\x21-\x7e]*")
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
        """Give what the settings say, right or wrong."""
        host = _parts(settings.KEBAB_ANSWER_URL)[1]
        written = frozenset({host}) if host and names_its_address(host) else frozenset[str]()
        return cls(
            url=settings.KEBAB_ANSWER_URL.rstrip("/").removesuffix(_ENDPOINT),
            model=settings.KEBAB_ANSWER_MODEL,
            api_key=settings.KEBAB_ANSWER_API_KEY,
            context_tokens=settings.KEBAB_ANSWER_CONTEXT_TOKENS,
            limit_s=settings.KEBAB_ANSWER_LIMIT_S,
            streams=settings.KEBAB_ANSWER_STREAM,
            private_hosts=settings.KEBAB_PRIVATE_HOSTS | written,
        )

    @property
    def are_none(self) -> bool:
        """Say whether no model is configured, so that answers are extractive."""
        return not self.url and not self.model


def problems(options: AnswerOptions) -> list[Problem]:
    """Give what is wrong with the settings, as far as that can be said without a network."""
    return [] if options.are_none else [*_wrong_endpoint(options), *_wrong_model(options)]


def _wrong_endpoint(options: AnswerOptions) -> Iterator[Problem]:
    parts, host = _parts(options.url)
    # The URL isn't repeated: people put keys into it.
    if parts is None or host is None or parts.scheme not in {"http", "https"}:
        yield Problem(
            setting="KEBAB_ANSWER_URL",
            message="KEBAB_ANSWER_URL is not the URL of an endpoint",
            remedy="Give one like http://127.0.0.1:8080/v1 or https://api.openai.com/v1.",
        )
    elif parts.username is not None or parts.password is not None:
        yield Problem(
            setting="KEBAB_ANSWER_URL",
            message="KEBAB_ANSWER_URL has a name or a password in it",
            remedy="Put the key into KEBAB_ANSWER_API_KEY.",
        )
    if _HEADER_VALUE.fullmatch(options.api_key) is None:
        yield Problem(
            setting="KEBAB_ANSWER_API_KEY",
            message="KEBAB_ANSWER_API_KEY holds characters that no header may have",
            remedy="Give the key alone, without white space.",
        )


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


def _parts(url: str) -> tuple[SplitResult | None, str | None]:
    """Give the parts of a URL and its host; None for what can't be read."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for one that is no port
    except ValueError:
        return None, None
    return parts, parts.hostname
