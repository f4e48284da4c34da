"""What is known of published models: components, prefixes they were trained with, languages.

From the models' cards. Whoever runs another one says so in the options of the embedder.
"""

import re
from dataclasses import dataclass
from typing import Final

from search.embedders.base import ANY_LANGUAGE

_ENGLISH = ("en",)
_PASSAGES_SOUGHT = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What holds for a model unless it is said otherwise."""

    #: None: it has to be said.
    dim: int | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    languages: tuple[str, ...] = (ANY_LANGUAGE,)
    #: Whether an endpoint gives fewer components when asked for them.
    can_shorten: bool = False


def traits_of(model: str) -> Traits:
    """Return what is known of `model`, written with or without its maker and tag."""
    name = model.rpartition("/")[2].partition(":")[0].lower()
    return next((traits for form, traits in _KNOWN if form.fullmatch(name)), Traits())


def _sized(form: str, dims: dict[str, int], **traits: object) -> list[tuple[re.Pattern[str], Traits]]:
    return [(re.compile(form % size), Traits(dim=dim, **traits)) for size, dim in dims.items()]  # type: ignore[arg-type]


_BERT_SIZES = {"small": 384, "base": 768, "large": 1024}
_E5 = {"query_prefix": "query: ", "passage_prefix": "passage: "}
_KNOWN: Final = [
    (re.compile("text-embedding-3-small"), Traits(dim=1536, can_shorten=True)),
    (re.compile("text-embedding-3-large"), Traits(dim=3072, can_shorten=True)),
    (re.compile("text-embedding-ada-002"), Traits(dim=1536)),
    *_sized(r"bge-%s-en(-v1\.5)?", _BERT_SIZES, query_prefix=_PASSAGES_SOUGHT, languages=_ENGLISH),
    (re.compile("bge-m3"), Traits(dim=1024)),
    *_sized("multilingual-e5-%s", _BERT_SIZES, **_E5),
    *_sized("e5-%s(-v2)?", _BERT_SIZES, languages=_ENGLISH, **_E5),
    *_sized("gte-%s", _BERT_SIZES, languages=_ENGLISH),
    (
        re.compile(r"nomic-embed-text(-v1(\.5)?)?(-q)?"),
        Traits(
            dim=768,
            query_prefix="search_query: ",
            passage_prefix="search_document: ",
            languages=_ENGLISH,
        ),
    ),
    *_sized(
        "snowflake-arctic-embed-%s",
        {"xs": 384, "s": 384, "m": 768, "l": 1024},
        query_prefix=_PASSAGES_SOUGHT,
        languages=_ENGLISH,
    ),
    (
        re.compile("mxbai-embed-large(-v1)?"),
        Traits(dim=1024, query_prefix=_PASSAGES_SOUGHT, languages=_ENGLISH),
    ),
    *_sized("jina-embeddings-v2-%s-en", {"small": 512, "base": 768}, languages=_ENGLISH),
    (re.compile("all-minilm(-l6-v2)?"), Traits(dim=384, languages=_ENGLISH)),
]
