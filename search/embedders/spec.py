"""Specs of embedders in the settings: `KIND`, `KIND:MODEL` or `KIND:MODEL?OPTION=VALUE&…`.

For example `openai:bge-m3?url=http://tei.internal/v1&dim=1024&key=tei`. The part before the `?` is the name.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

from search.embedders.minilm.weights import MODEL
from search.embedders.model_catalogue import Traits, traits_of
from search.endpoints.configured_endpoint import describe_problems, url_problem

DEFAULT: Final = "default"
NONE: Final = "none"
HASH: Final = "hash"
FASTEMBED: Final = "fastembed"
OPENAI: Final = "openai"
#: All forms of names of embedders.
FORMS: Final = (DEFAULT, MODEL, HASH, NONE, f"{FASTEMBED}:MODEL", f"{OPENAI}:MODEL")
#: The most components of half-precision vectors that pgvector can build an HNSW index over.
MAX_DIM: Final = 4_000
#: Default of `max_tokens`, the least of usual models.
USUAL_MAX_TOKENS: Final = 512

_MAX_CHARS = 200
_LANGUAGE = re.compile(r"\*|[a-z]{2,3}")
_KEY_NAME = re.compile(r"[A-Za-z0-9_]+")
_REVISION = re.compile(r"[^\s+@]{1,100}")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderSpec:
    """A parsed spec of an embedder; None means not given, so that the model's traits apply."""

    #: The text before the options.
    name: str
    kind: str
    model: str
    #: Base url of the endpoint, without `/embeddings`.
    url: str | None = None
    #: Suffix of the environment variable with the key: KEBAB_EMBED_API_KEY_<NAME>.
    key: str | None = None
    #: A folder with the model's files, instead of a download.
    folder: Path | None = None
    dim: int | None = None
    revision: str | None = None
    query_prefix: str | None = None
    passage_prefix: str | None = None
    languages: tuple[str, ...] | None = None
    max_tokens: int | None = None
    pooling: str = "mean"
    #: Limits of texts, and of their estimated tokens, per request.
    batch: int = 32
    batch_tokens: int = 16_000
    #: Requested encoding of vectors; responses may use either.
    encoding: str = "float"
    limit_s: float = 60.0
    query_limit_s: float = 2.0
    traits: Traits = field(default_factory=Traits)


def parse_spec(text: str) -> EmbedderSpec:
    """Parse a spec. Raises ValueError with the fault; the message repeats no URL, which may hold a key."""
    name, _, query = text.strip().partition("?")
    kind, colon, model = name.partition(":")
    if name == MODEL:
        kind = DEFAULT
    allowed = _OPTIONS.get(kind)
    if allowed is None or bool(model) != (kind in {FASTEMBED, OPENAI} or (kind == HASH and bool(colon))):
        raise ValueError(f"{name[:_MAX_CHARS]!r} is not an embedder; give one of {', '.join(FORMS)}.")
    if len(name) > _MAX_CHARS:
        raise ValueError(f"The name of an embedder has {len(name)} characters; {_MAX_CHARS} may be.")
    values = {option: _PARSERS[option](value) for option, value in _parse_options(query, kind, allowed)}
    if kind == HASH and model:
        values["dim"] = _integer_parser(2, MAX_DIM)(model)
    return EmbedderSpec(name=name, kind=kind, model=model, traits=traits_of(model), **values)


def _parse_options(query: str, kind: str, allowed: Iterable[str]) -> list[tuple[str, str]]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
    except ValueError:
        raise ValueError("The options of an embedder are written OPTION=VALUE, joined by `&`.") from None
    for option, _ in pairs:
        if option not in allowed:
            raise ValueError(
                f"{kind} lacks the option {option[:40]!r}; it has: {', '.join(sorted(allowed)) or 'none'}."
            )
    if len({option for option, _ in pairs}) < len(pairs):
        raise ValueError("An option of an embedder may be given only once.")
    return pairs


def _integer_parser(least: int, most: int) -> Callable[[str], int]:
    def parse(value: str) -> int:
        if not value.isascii() or not value.isdigit() or not least <= int(value[:9]) <= most:
            raise ValueError(f"{value[:40]!r} is not a whole number from {least} to {most}.")
        return int(value)

    return parse


def _parse_seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 600:
        raise ValueError(f"{value[:40]!r} is not a number of seconds up to 600.")
    return seconds


def _choice_parser(*choices: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        if value not in choices:
            raise ValueError(f"{value[:40]!r} is not one of {', '.join(choices)}.")
        return value

    return parse


def _pattern_parser(form: re.Pattern[str], what: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        if form.fullmatch(value) is None:
            raise ValueError(f"{value[:40]!r} is not {what}.")
        return value

    return parse


def _parse_prefix(value: str) -> str:
    if len(value) > _MAX_CHARS:
        raise ValueError(f"A prefix of {len(value)} characters is too long; {_MAX_CHARS} may be.")
    return value


def _parse_languages(value: str) -> tuple[str, ...]:
    languages = tuple(value.split(","))
    if not all(map(_LANGUAGE.fullmatch, languages)):
        raise ValueError(f"{value[:40]!r} are not languages; write en,de or * for all.")
    return languages


def _parse_url(value: str) -> str:
    key_setting, example = "KEBAB_EMBED_API_KEY_<NAME>", "http://127.0.0.1:11434/v1"
    problem = url_problem("The URL of an embedder", value, key_setting, example)
    if problem is not None:
        raise ValueError(describe_problems([problem]))
    if "?" in value or "#" in value:
        raise ValueError("The URL of an embedder has a query in it; give the key apart.")
    return value.rstrip("/").removesuffix("/embeddings")


_PARSERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "url": _parse_url,
    "key": _pattern_parser(_KEY_NAME, "the end of a variable's name"),
    "folder": lambda value: Path(value).expanduser(),
    "dim": _integer_parser(1, MAX_DIM),
    "revision": _pattern_parser(_REVISION, "a revision (no blanks, no + and @)"),
    "query_prefix": _parse_prefix,
    "passage_prefix": _parse_prefix,
    "languages": _parse_languages,
    "max_tokens": _integer_parser(16, 1_000_000),
    "pooling": _choice_parser("mean", "cls", "last_token"),
    "batch": _integer_parser(1, 2_048),
    "batch_tokens": _integer_parser(16, 1_000_000),
    "encoding": _choice_parser("float", "base64"),
    "limit_s": _parse_seconds,
    "query_limit_s": _parse_seconds,
}
_MODEL_OPTIONS = frozenset({"dim", "revision", "query_prefix", "passage_prefix", "languages", "max_tokens"})
_ENDPOINT_OPTIONS = frozenset({"url", "key", "batch", "batch_tokens", "encoding", "limit_s", "query_limit_s"})
_OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    DEFAULT: frozenset(),
    NONE: frozenset(),
    HASH: frozenset(),
    FASTEMBED: _MODEL_OPTIONS | {"folder", "pooling"},
    OPENAI: _MODEL_OPTIONS | _ENDPOINT_OPTIONS,
}
