"""A catalogue of published models: dimensions, prefixes and languages, from the models' cards.

Those of other models are set by the options of the embedder.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from search.embedders.base import ANY_LANGUAGE

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
