"""What a search is narrowed to. Values of one filter are alternatives; different filters must all hold.

Of `path_not_glob` no value may fit.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import NoReturn

from search.retrieval.code.languages import code_language_names
from search.retrieval.errors import InvalidFilter, shown
from search.retrieval.query.glob import compile_glob
from search.retrieval.text.cleaning import is_storable

#: Of both filters on paths together. PostgreSQL keeps 32 compiled expressions; with more each row compiles
#: all again: 50 take 39 ms a row.
MAX_PATH_GLOBS = 20

_ALTERNATIVES = (
    "tags_any",
    "lang",
    "path_glob",
    "path_not_glob",
    "source",
    "version",
    "kind",
    "code_lang",
    "media",
    "doc_id",
)
_TEXTS = tuple(name for name in _ALTERNATIVES if name not in {"kind", "media"})
_DOC_ID = re.compile("[0-9a-f]{32}")


class _FilterValue(StrEnum):
    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        raise InvalidFilter(f"{shown(value)} is not one of {', '.join(cls)}.")


class TrustLevel(_FilterValue):
    """How far a document's text can be relied on, best first."""

    PRIMARY = "primary"
    SECONDARY = "secondary"
    GENERATED = "generated"
    UNKNOWN = "unknown"

    def or_better(self) -> tuple["TrustLevel", ...]:
        """Return the levels that a minimum of this one lets through, best first."""
        levels = tuple(TrustLevel)
        return levels[: levels.index(self) + 1]


class ChunkKind(_FilterValue):
    """Whether a chunk is code or prose."""

    CODE = "code"
    INFO = "info"


class Media(_FilterValue):
    """What sort of thing a document is."""

    TEXT = "text"
    CODE = "code"
    PDF = "pdf"
    OFFICE = "office"
    EMAIL = "email"
    IMAGE = "image"
    TRANSCRIPT = "transcript"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilters:
    """Filters; an empty tuple or None filters nothing. Raises: InvalidFilter, naming filter and value.

    Values may also be given as a list, or one by itself, and those of enumerations by their names.
    """

    tags_any: tuple[str, ...] = ()
    lang: tuple[str, ...] = ()
    #: See `search.retrieval.query.glob`.
    path_glob: tuple[str, ...] = ()
    #: The one filter that leaves out: a path may fit none of these.
    path_not_glob: tuple[str, ...] = ()
    trust_min: TrustLevel | None = None
    #: Source names or ids, as the caller knows them.
    source: tuple[str, ...] = ()
    #: Version tags.
    version: tuple[str, ...] = ()
    kind: tuple[ChunkKind, ...] = ()
    #: Programming languages of chunks, by any name that `search.retrieval.code.languages` knows.
    code_lang: tuple[str, ...] = ()
    media: tuple[Media, ...] = ()
    #: 32 hex digits each.
    doc_id: tuple[str, ...] = ()
    #: Documents indexed later than this, with a time zone.
    ingested_after: datetime | None = None

    @property
    def code_lang_names(self) -> tuple[str, ...]:
        """Return the names that chunks may have for the languages of `code_lang`."""
        return code_language_names(self.code_lang)

    def __post_init__(self) -> None:
        for name in _ALTERNATIVES:
            self._set(name, _as_tuple(getattr(self, name)))
        self._set("kind", tuple(map(ChunkKind, self.kind)))
        self._set("media", tuple(map(Media, self.media)))
        self._set("trust_min", None if self.trust_min is None else TrustLevel(self.trust_min))
        self._check()

    def _set(self, name: str, value: object) -> None:
        # The one way to set a field of a frozen value while it is being made.
        object.__setattr__(self, name, value)

    def _check(self) -> None:
        for name in _TEXTS:
            _check_texts(name, getattr(self, name))
        patterns = (*self.path_glob, *self.path_not_glob)
        if len(patterns) > MAX_PATH_GLOBS:
            raise InvalidFilter(f"There are {len(patterns)} path patterns; give {MAX_PATH_GLOBS} at most.")
        for pattern in patterns:
            compile_glob(pattern)
        for doc_id in self.doc_id:
            if _DOC_ID.fullmatch(doc_id) is None:
                raise InvalidFilter(f"The doc_id {shown(doc_id)} is not 32 hex digits; copy it from a hit.")
        if self.ingested_after is not None and self.ingested_after.tzinfo is None:
            raise InvalidFilter(
                f"ingested_after {self.ingested_after.isoformat()} has no time zone; add one, like 'Z'."
            )

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is filtered."""
        return not self.shape()

    def shape(self) -> dict[str, int]:
        """Return how many values each filter in use has, which is all that a log may tell."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: len(value) if isinstance(value, tuple) else 1
            for name, value in values.items()
            if value is not None and value != ()
        }


def _as_tuple(given: Iterable[str] | None) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())


def _check_texts(name: str, values: tuple[str, ...]) -> None:
    for value in values:
        if not value or not is_storable(value):
            raise InvalidFilter(
                f"{name} {shown(value)} is empty or has a character no document has; mend it."
            )
