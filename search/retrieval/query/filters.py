"""Search filters. Values of one filter are alternatives; different filters must all hold, whatever the case.

A path must match no value of `path_not_glob`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Final, NoReturn

from search.retrieval.code.languages import code_language_names
from search.retrieval.errors import InvalidFilter, preview
from search.retrieval.query.conditions import (
    METADATA_PREFIX,
    Comparison,
    Condition,
    NamedCondition,
    Not,
    Test,
    fold_case,
    one_of,
)
from search.retrieval.query.glob import Glob, compile_glob, path_fits
from search.retrieval.query.metadata_filter import MetadataCondition
from search.retrieval.text.sanitize import is_storable

#: Maximum number of patterns of both path filters together.
MAX_PATH_GLOBS = 20

# The fields that these filters compare with their values.
_COMPARED: Final = {
    "tags_any": "tag",
    "lang": "lang",
    "kind": "kind",
    "media": "media",
    "doc_id": "doc_id",
    "author": "author",
}
#: Filters with a time, and its comparison.
MOMENTS: Final[dict[str, tuple[str, Test]]] = {
    "ingested_after": ("indexed_at", "gt"),
    "dated_after": ("dated_at", "gte"),
    "dated_before": ("dated_at", "lt"),
}
_DOC_ID = re.compile("[0-9a-f]{32}")


class _FilterValue(StrEnum):
    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        raise InvalidFilter(f"{preview(value)} is not one of {', '.join(cls)}.")


class TrustLevel(_FilterValue):
    """The reliability of a document's text, best first."""

    PRIMARY = "primary"
    SECONDARY = "secondary"
    GENERATED = "generated"
    UNKNOWN = "unknown"

    def or_better(self) -> tuple["TrustLevel", ...]:
        """Return the levels that are at least this one, best first."""
        levels = tuple(TrustLevel)
        return levels[: levels.index(self) + 1]


class ChunkKind(_FilterValue):
    """The kind of a chunk: code or prose."""

    CODE = "code"
    INFO = "info"


class Media(_FilterValue):
    """The type of a document."""

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

    Values may also be a list or a single value, and those of enumerations their names.
    """

    tags_any: tuple[str, ...] = ()
    lang: tuple[str, ...] = ()
    #: See `search.retrieval.query.glob`.
    path_glob: tuple[str, ...] = ()
    #: The only excluding filter: a path must match none of these.
    path_not_glob: tuple[str, ...] = ()
    trust_min: TrustLevel | None = None
    #: Source names or ids, as the caller knows them.
    source: tuple[str, ...] = ()
    #: Version tags.
    version: tuple[str, ...] = ()
    kind: tuple[ChunkKind, ...] = ()
    #: Programming languages of chunks, by any name in `search.retrieval.code.languages`.
    code_lang: tuple[str, ...] = ()
    media: tuple[Media, ...] = ()
    #: 32 hex digits each.
    doc_id: tuple[str, ...] = ()
    #: Documents indexed later than this, with a time zone.
    ingested_after: datetime | None = None
    #: Authors of documents.
    author: tuple[str, ...] = ()
    #: Documents with this date or a later one, with an earlier one; both with a time zone.
    dated_after: datetime | None = None
    dated_before: datetime | None = None
    #: See `search.retrieval.query.metadata`; by name.
    metadata: tuple[MetadataCondition, ...] = ()

    def conditions(self) -> Iterator[NamedCondition]:
        """Yield the conditions of the filters in use, without those of sources and versions."""
        for name, condition in self._compile():
            yield NamedCondition(name=name, condition=condition)

    def _compile(self) -> Iterator[tuple[str, Condition]]:
        for name, field in _COMPARED.items():
            if values := getattr(self, name):
                yield name, one_of(field, values)
        if self.code_lang:
            # By all names that chunks may have for the languages.
            yield "code_lang", one_of("code_lang", code_language_names(self.code_lang))
        if self.trust_min is not None:
            yield "trust_min", one_of("trust", self.trust_min.or_better())
        if self.path_glob:
            yield "path_glob", path_fits(*map(_compile_folded, self.path_glob))
        if self.path_not_glob:
            yield "path_not_glob", Not(path_fits(*map(_compile_folded, self.path_not_glob)))
        for name, (field, test) in MOMENTS.items():
            if (moment := getattr(self, name)) is not None:
                yield name, Comparison(field=field, test=test, values=(moment,))
        for each in self.metadata:
            yield f"{METADATA_PREFIX}{each.name}", each.condition

    def __post_init__(self) -> None:
        for name in _ALTERNATIVES:
            self._set(name, _as_tuple(getattr(self, name)))
        self._set("kind", tuple(map(ChunkKind, self.kind)))
        self._set("media", tuple(map(Media, self.media)))
        self._set("trust_min", None if self.trust_min is None else TrustLevel(self.trust_min))
        self._check()

    def _set(self, name: str, value: object) -> None:
        # A frozen dataclass allows no ordinary assignment, not even here.
        object.__setattr__(self, name, value)

    def _check(self) -> None:
        for name in _TEXTS:
            _check_texts(name, getattr(self, name))
        patterns = (*self.path_glob, *self.path_not_glob)
        if len(patterns) > MAX_PATH_GLOBS:
            raise InvalidFilter(f"There are {len(patterns)} path patterns; give {MAX_PATH_GLOBS} at most.")
        for pattern in patterns:
            _compile_folded(pattern)
        for doc_id in self.doc_id:
            if _DOC_ID.fullmatch(doc_id) is None:
                raise InvalidFilter(f"The doc_id {preview(doc_id)} is not 32 hex digits; copy it from a hit.")
        for name in MOMENTS:
            moment = getattr(self, name)
            if moment is not None and moment.tzinfo is None:
                raise InvalidFilter(f"{name} {moment.isoformat()} lacks a time zone; add one, like 'Z'.")

    def shape(self) -> dict[str, int]:
        """Return the number of values of each filter in use; logs may contain no more than that."""
        return {
            name: len(value) if isinstance(value, tuple) else 1
            for name, value in zip(NAMES, _values_of(self), strict=True)
            if value is not None and value != ()
        }


#: The names of the filters.
NAMES: Final = tuple(field.name for field in fields(SearchFilters))
_values_of = attrgetter(*NAMES)


def _compile_folded(pattern: str) -> Glob:
    return compile_glob(fold_case(pattern))


def _as_tuple(value: Iterable[str] | None) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value or ())


def _check_texts(name: str, values: tuple[str, ...]) -> None:
    for value in values:
        if not value or not is_storable(value):
            raise InvalidFilter(
                f"{name} {preview(value)} is empty or has a character no document has; mend it."
            )


_ALTERNATIVES: Final = tuple(
    each.name for each in fields(SearchFilters) if each.default == () and each.name != "metadata"
)
_TEXTS: Final = tuple(name for name in _ALTERNATIVES if name not in ("kind", "media"))
#: Lets every document pass.
NO_FILTERS = SearchFilters()
