"""How the settings write an embedder: `KIND`, `KIND:MODEL` or `KIND:MODEL?OPTION=VALUE&…`.

`openai:bge-m3?url=http://tei.internal/v1&dim=1024&key=tei` is one. What stands before the `?` is its name.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from search.embedders.minilm.weights import MODEL
from search.embedders.model_catalogue import Traits, traits_of

DEFAULT: Final = "default"
NONE: Final = "none"
HASH: Final = "hash"
FASTEMBED: Final = "fastembed"
OPENAI: Final = "openai"
#: Every form that an embedder may be written in.
FORMS: Final = (DEFAULT, MODEL, HASH, NONE, f"{FASTEMBED}:MODEL", f"{OPENAI}:MODEL")
#: pgvector builds an HNSW index over half-precision vectors of at most so many components.
MAX_DIM: Final = 4_000
#: Tokens read of a text by a model of which nothing is said: the least that is usual.
USUAL_MAX_TOKENS: Final = 512

_MAX_CHARS = 200
_LANGUAGE = re.compile(r"\*|[a-z]{2,3}")
_KEY_NAME = re.compile(r"[A-Za-z0-9_]+")
_REVISION = re.compile(r"[^\s+@]{1,100}")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderSpec:
    """One embedder as it was written; None: not said, so what is known of the model holds."""

    #: The text before the options.
    name: str
    kind: str
    model: str
    #: Of the endpoint, without `/embeddings`.
    url: str | None = None
    #: Names the environment variable with the key: KEBAB_EMBED_API_KEY_<NAME>.
    key: str | None = None
    #: A folder with the model's files, so that nothing is fetched.
    folder: Path | None = None
    dim: int | None = None
    revision: str | None = None
    query_prefix: str | None = None
    passage_prefix: str | None = None
    languages: tuple[str, ...] | None = None
    max_tokens: int | None = None
    pooling: str = "mean"
    #: Texts a request, and their tokens together, estimated.
    batch: int = 32
    batch_tokens: int = 16_000
    #: How vectors are asked for; both ways are understood in every answer.
    encoding: str = "float"
    limit_s: float = 60.0
    query_limit_s: float = 2.0
    traits: Traits = field(default_factory=Traits)


def parse_spec(text: str) -> EmbedderSpec:
    """Return what `text` says. Raises ValueError with what is wrong; it repeats no URL."""
    name, _, query = text.strip().partition("?")
    kind, colon, model = name.partition(":")
    if name == MODEL:
        kind = DEFAULT
    allowed = _OPTIONS.get(kind)
    if allowed is None or bool(model) != (kind in {FASTEMBED, OPENAI} or (kind == HASH and bool(colon))):
        raise ValueError(f"{name[:_MAX_CHARS]!r} is no embedder; give one of {', '.join(FORMS)}.")
    if len(name) > _MAX_CHARS:
        raise ValueError(f"The name of an embedder has {len(name)} characters; {_MAX_CHARS} may be.")
    given = {option: _READ[option](value) for option, value in _options(query, kind, allowed)}
    if kind == HASH and model:
        given["dim"] = _whole(2, MAX_DIM)(model)
    return EmbedderSpec(name=name, kind=kind, model=model, traits=traits_of(model), **given)


def _options(query: str, kind: str, allowed: Iterable[str]) -> list[tuple[str, str]]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
    except ValueError:
        raise ValueError("The options of an embedder are written OPTION=VALUE, joined by `&`.") from None
    for option, _ in pairs:
        if option not in allowed:
            raise ValueError(
                f"{kind} has no option {option[:40]!r}; it has: {', '.join(sorted(allowed)) or 'none'}."
            )
    if len({option for option, _ in pairs}) < len(pairs):
        raise ValueError("An option of an embedder may be given only once.")
    return pairs


def _whole(least: int, most: int) -> Callable[[str], int]:
    def read(value: str) -> int:
        if not value.isascii() or not value.isdigit() or not least <= int(value[:9]) <= most:
            raise ValueError(f"{value[:40]!r} is not a whole number from {least} to {most}.")
        return int(value)

    return read


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 600:
        raise ValueError(f"{value[:40]!r} is not a number of seconds up to 600.")
    return seconds


def _one_of(*choices: str) -> Callable[[str], str]:
    def read(value: str) -> str:
        if value not in choices:
            raise ValueError(f"{value[:40]!r} is not one of {', '.join(choices)}.")
        return value

    return read


def _matching(form: re.Pattern[str], what: str) -> Callable[[str], str]:
    def read(value: str) -> str:
        if form.fullmatch(value) is None:
            raise ValueError(f"{value[:40]!r} is not {what}.")
        return value

    return read


def _prefix(value: str) -> str:
    if len(value) > _MAX_CHARS:
        raise ValueError(f"A prefix of {len(value)} characters is too long; {_MAX_CHARS} may be.")
    return value


def _languages(value: str) -> tuple[str, ...]:
    languages = tuple(value.split(","))
    if not all(map(_LANGUAGE.fullmatch, languages)):
        raise ValueError(f"{value[:40]!r} are not languages; write en,de or * for all.")
    return languages


def _url(value: str) -> str:
    # It isn't repeated: people put keys into URLs.
    try:
        parts = urlsplit(value)
        host = parts.hostname
        parts.port  # noqa: B018 - raises for one that is no port
    except ValueError:
        raise ValueError("The URL of an embedder can't be read.") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise ValueError("The URL of an embedder must be like http://127.0.0.1:11434/v1.")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ValueError(
            "The URL of an embedder has a name, a password or a query in it; give the key apart."
        )
    return value.rstrip("/").removesuffix("/embeddings")


_READ: Final[Mapping[str, Callable[[str], Any]]] = {
    "url": _url,
    "key": _matching(_KEY_NAME, "the end of a variable's name"),
    "folder": lambda value: Path(value).expanduser(),
    "dim": _whole(1, MAX_DIM),
    "revision": _matching(_REVISION, "a revision (no blanks, no + and @)"),
    "query_prefix": _prefix,
    "passage_prefix": _prefix,
    "languages": _languages,
    "max_tokens": _whole(16, 1_000_000),
    "pooling": _one_of("mean", "cls", "last_token"),
    "batch": _whole(1, 2_048),
    "batch_tokens": _whole(16, 1_000_000),
    "encoding": _one_of("float", "base64"),
    "limit_s": _seconds,
    "query_limit_s": _seconds,
}
_OF_ANY_MODEL = frozenset({"dim", "revision", "query_prefix", "passage_prefix", "languages", "max_tokens"})
_OF_AN_ENDPOINT = frozenset({"url", "key", "batch", "batch_tokens", "encoding", "limit_s", "query_limit_s"})
_OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    DEFAULT: frozenset(),
    NONE: frozenset(),
    HASH: frozenset(),
    FASTEMBED: _OF_ANY_MODEL | {"folder", "pooling"},
    OPENAI: _OF_ANY_MODEL | _OF_AN_ENDPOINT,
}
