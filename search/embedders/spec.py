"""Specs of embedders in the settings: `KIND`, `KIND:MODEL` or `KIND:MODEL?OPTION=VALUE&…`.

For example `openai:bge-m3?url=http://tei.internal/v1&dim=1024&key=tei`. The part before the `?` is the name.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import parse_qsl

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, ValidationError

from kebab.wire import locate_error
from search.embedders.base import ANY_LANGUAGE
from search.embedders.bert.model import ENGLISH_MODEL, MULTILINGUAL_MODEL
from search.endpoints.configured_endpoint import describe_problems, url_problem
from search.retrieval.errors import preview

_ENGLISH = ("en",)
_SEARCH_PREFIX = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """Properties of a model, which options of the embedder override."""

    #: None: it must be given as an option.
    dim: int | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    languages: tuple[str, ...] = (ANY_LANGUAGE,)
    #: Whether an endpoint can return fewer components.
    can_shorten: bool = False


def traits_of(model: str) -> Traits:
    """Return the traits of `model`, written with or without its publisher and tag."""
    name = model.rpartition("/")[2].partition(":")[0].lower()
    return next((traits for form, traits in _KNOWN if form.fullmatch(name)), Traits())


def _traits_by_size(form: str, dims: dict[str, int], **traits: Any) -> list[tuple[re.Pattern[str], Traits]]:
    return [(re.compile(form % size), Traits(dim=dim, **traits)) for size, dim in dims.items()]


_BERT_SIZES = {"small": 384, "base": 768, "large": 1024}
_E5 = {"query_prefix": "query: ", "passage_prefix": "passage: "}
_KNOWN: Final = [
    (re.compile("text-embedding-3-small"), Traits(dim=1536, can_shorten=True)),
    (re.compile("text-embedding-3-large"), Traits(dim=3072, can_shorten=True)),
    (re.compile("text-embedding-ada-002"), Traits(dim=1536)),
    *_traits_by_size(r"bge-%s-en(-v1\.5)?", _BERT_SIZES, query_prefix=_SEARCH_PREFIX, languages=_ENGLISH),
    (re.compile("bge-m3"), Traits(dim=1024)),
    *_traits_by_size("multilingual-e5-%s", _BERT_SIZES, **_E5),
    *_traits_by_size("e5-%s(-v2)?", _BERT_SIZES, languages=_ENGLISH, **_E5),
    *_traits_by_size("gte-%s", _BERT_SIZES, languages=_ENGLISH),
    (
        re.compile(r"nomic-embed-text(-v1(\.5)?)?(-q)?"),
        Traits(
            dim=768,
            query_prefix="search_query: ",
            passage_prefix="search_document: ",
            languages=_ENGLISH,
        ),
    ),
    *_traits_by_size(
        "snowflake-arctic-embed-%s",
        {"xs": 384, "s": 384, "m": 768, "l": 1024},
        query_prefix=_SEARCH_PREFIX,
        languages=_ENGLISH,
    ),
    (
        re.compile("mxbai-embed-large(-v1)?"),
        Traits(dim=1024, query_prefix=_SEARCH_PREFIX, languages=_ENGLISH),
    ),
    *_traits_by_size("jina-embeddings-v2-%s-en", {"small": 512, "base": 768}, languages=_ENGLISH),
    (re.compile("all-minilm(-l6-v2)?"), Traits(dim=384, languages=_ENGLISH)),
]


#: A local model, chosen by a workspace's languages.
DEFAULT: Final = "default"
ENGLISH: Final = "english"
MULTILINGUAL: Final = "multilingual"
NONE: Final = "none"
HASH: Final = "hash"
FASTEMBED: Final = "fastembed"
OPENAI: Final = "openai"
#: All forms of names of embedders.
FORMS: Final = (DEFAULT, ENGLISH, MULTILINGUAL, HASH, NONE, f"{FASTEMBED}:MODEL", f"{OPENAI}:MODEL")
#: The most components of half-precision vectors that pgvector can build an HNSW index over.
MAX_DIM: Final = 4_000
#: Default of `max_tokens`, the least of usual models.
USUAL_MAX_TOKENS: Final = 512

_MAX_CHARS = 200
_PUBLISHED_NAMES: Final = {ENGLISH_MODEL: ENGLISH, MULTILINGUAL_MODEL: MULTILINGUAL}


def _parse_url(value: str) -> str:
    key_setting, example = "KEBAB_EMBED_API_KEY_<NAME>", "http://127.0.0.1:11434/v1"
    problem = url_problem("The URL of an embedder", value, key_setting, example)
    if problem is not None:
        raise ValueError(describe_problems([problem]))
    if "?" in value or "#" in value:
        raise ValueError("The URL of an embedder has a query in it; give the key apart.")
    return value.rstrip("/").removesuffix("/embeddings")


_Prefix = Annotated[str | None, Field(max_length=_MAX_CHARS)]
_Tokens = Annotated[int, Field(ge=16, le=1_000_000)]
_Seconds = Annotated[float, Field(gt=0, le=600)]
_Language = Annotated[str, Field(pattern=r"^(?:\*|[a-z]{2,3})$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderSpec:
    """A parsed spec of an embedder; None means not given, so that the model's traits apply."""

    #: The text before the options.
    name: str
    kind: str
    model: str
    #: Base url of the endpoint, without `/embeddings`.
    url: Annotated[str | None, AfterValidator(_parse_url)] = None
    #: Suffix of the environment variable with the key: KEBAB_EMBED_API_KEY_<NAME>.
    key: Annotated[str | None, Field(pattern=r"^[A-Za-z0-9_]+$")] = None
    #: A folder with the model's files, instead of a download.
    folder: Annotated[Path | None, AfterValidator(Path.expanduser)] = None
    dim: Annotated[int | None, Field(ge=2, le=MAX_DIM)] = None
    revision: Annotated[str | None, Field(pattern=r"^[^\s+@]{1,100}$")] = None
    query_prefix: _Prefix = None
    passage_prefix: _Prefix = None
    languages: Annotated[tuple[_Language, ...] | None, BeforeValidator(lambda text: text.split(","))] = None
    max_tokens: _Tokens | None = None
    pooling: Literal["mean", "cls", "last_token"] = "mean"
    #: Limits of texts, and of their estimated tokens, per request.
    batch: Annotated[int, Field(ge=1, le=2_048)] = 32
    batch_tokens: _Tokens = 16_000
    #: Requested encoding of vectors; responses may use either.
    encoding: Literal["float", "base64"] = "float"
    limit_s: _Seconds = 60.0
    query_limit_s: _Seconds = 2.0
    traits: Traits = field(default_factory=Traits)


_SPEC: Final = TypeAdapter(EmbedderSpec)


def parse_spec(text: str) -> EmbedderSpec:
    """Parse a spec. Raises ValueError with the fault; the message repeats no URL, which may hold a key."""
    name, _, query = text.strip().partition("?")
    kind, colon, model = name.partition(":")
    kind = _PUBLISHED_NAMES.get(name, kind)
    allowed = _OPTIONS.get(kind)
    if allowed is None or bool(model) != (kind in {FASTEMBED, OPENAI} or (kind == HASH and bool(colon))):
        raise ValueError(f"{name[:_MAX_CHARS]!r} is not an embedder; give one of {', '.join(FORMS)}.")
    if len(name) > _MAX_CHARS:
        raise ValueError(f"The name of an embedder has {len(name)} characters; {_MAX_CHARS} may be.")
    options = dict(_parse_options(query, kind, allowed))
    if kind == HASH and model:
        options["dim"] = model
    try:
        return _SPEC.validate_python(
            {"name": name, "kind": kind, "model": model, "traits": traits_of(model), **options}
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place, problem = locate_error(first)
        value = "" if place == "url" else f", not {preview(first['input'])}"
        raise ValueError(f"{place}: {problem.rstrip('.')}{value}.") from None


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


_MODEL_OPTIONS = frozenset({"dim", "revision", "query_prefix", "passage_prefix", "languages", "max_tokens"})
_ENDPOINT_OPTIONS = frozenset({"url", "key", "batch", "batch_tokens", "encoding", "limit_s", "query_limit_s"})
_OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    DEFAULT: frozenset(),
    ENGLISH: frozenset(),
    MULTILINGUAL: frozenset(),
    NONE: frozenset(),
    HASH: frozenset(),
    FASTEMBED: _MODEL_OPTIONS | {"folder", "pooling"},
    OPENAI: _MODEL_OPTIONS | _ENDPOINT_OPTIONS,
}
