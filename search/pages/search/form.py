"""The search form's values, parsed from the page's address."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from search.retrieval.errors import InvalidFilter, InvalidQuery, preview
from search.retrieval.query.filter_codec import SINGLE, filters_from_json
from search.retrieval.query.filters import MOMENTS, SearchFilters
from search.retrieval.types import Group, Mode, SearchQuery, Sort

#: The numbers of hits that a page may show; the first is the default.
HIT_COUNTS = ("10", "20", "50")
_SNIPPET_CHARS = 180
# A query of as many words may be answered by a quote.
_QUESTION_WORDS = 4

#: What each mode finds.
MODES: Final[Mapping[str, Promise]] = {
    Mode.HYBRID.value: _("Best match"),
    Mode.LEXICAL.value: _("Exact words"),
    Mode.VECTOR.value: _("Similar meaning"),
}

#: The orders to choose from.
ORDERS: Final[Mapping[Sort, Promise]] = {
    Sort.RELEVANCE: _("Relevance"),
    Sort.DATE: _("Newest first"),
    Sort.DATE_ASC: _("Oldest first"),
    Sort.TITLE: _("Title"),
}

#: The labels of filters by their API names, in the order in which addresses have them.
FILTER_LABELS: Final = {
    "source": _("Source"),
    "media": _("Type"),
    "lang": _("Language"),
    "tags_any": _("Tag"),
    "author": _("Author"),
    "trust_min": _("Trust"),
    "version": _("Version"),
    "ingested_after": _("Added since"),
    "dated_after": _("Updated since"),
    "dated_before": _("Updated before"),
    "kind": _("Content"),
    "code_lang": _("Programming language"),
    "path_glob": _("Path"),
    "path_not_glob": _("Not in"),
    "doc_id": _("Document"),
}
# Each hit has two links with it.
_MAX_CARRIED_CHARS = 2_000
_NO_TYPOS = "false"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
#: Values of all filters together.
_MAX_VALUES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchInput:
    """The search parameters as typed, unchecked, so that a refused search can be shown and corrected."""

    text: str
    mode: str
    k: str
    #: Whether unknown words are corrected.
    typos: bool = True
    sort: Sort = Sort.RELEVANCE
    #: (name, value) of each filter.
    filters: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_parameters(cls, parameters: QueryDict) -> "SearchInput":
        """Parse query parameters; missing ones have their defaults."""
        return cls(
            filters=tuple(_parse_filters(parameters)),
            text=parameters.get("q", ""),
            mode=parameters.get("mode") or Mode.HYBRID.value,
            k=parameters.get("k") or HIT_COUNTS[0],
            typos=parameters.get("typos") != _NO_TYPOS,
            sort=next((each for each in ORDERS if each == parameters.get("sort")), Sort.RELEVANCE),
        )

    @property
    def is_blank(self) -> bool:
        """Return whether there is nothing to search for."""
        return not self.text.strip()

    @property
    def address(self) -> str:
        """Return the query string that repeats this search."""
        return f"{urlencode({'q': self.text})}&{self.manner}"

    @property
    def as_question(self) -> str:
        """Return the query string that asks the query text as a question."""
        return urlencode({"question": self.text})

    @property
    def manner(self) -> str:
        """Return the query string without the query text: mode, number of hits and filters."""
        as_typed = [] if self.typos else [("typos", _NO_TYPOS)]
        return urlencode([("mode", self.mode), ("k", self.k), *self._sort, *as_typed, *self.filters])

    @property
    def _sort(self) -> list[tuple[str, str]]:
        return [] if self.sort == Sort.RELEVANCE else [("sort", self.sort.value)]

    @property
    def return_query(self) -> str:
        """Return the query string in hits' links, for the way back from the document; '' if too long."""
        return self.address if len(self.address) <= _MAX_CARRIED_CHARS else ""

    @property
    def is_question(self) -> bool:
        """Return whether the text reads like a question in words."""
        words = self.text.split()
        is_plain = not any(mark in self.text for mark in "\"':-")
        return (
            self.mode == Mode.HYBRID
            and is_plain
            and (len(words) >= _QUESTION_WORDS or self.text.rstrip().endswith("?"))
        )

    @property
    def carried(self) -> list[tuple[str, str]]:
        """Return the fields that the search box repeats: what differs from a search without them."""
        mode = [] if self.mode == Mode.HYBRID else [("mode", self.mode)]
        count = [] if self.k == HIT_COUNTS[0] else [("k", self.k)]
        return [*mode, *count, *self._sort, *self.filters]

    @property
    def without_filters(self) -> "SearchInput":
        """Return a copy without filters."""
        return replace(self, filters=())

    def with_filter(self, name: str, value: str) -> "SearchInput":
        """Return a copy with this filter added; a filter with a single value is replaced."""
        others = (each for each in self.filters if name not in SINGLE or each[0] != name)
        return replace(self, filters=tuple(dict.fromkeys((*others, (name, value)))))

    def without_filter(self, name: str, value: str) -> "SearchInput":
        """Return a copy without this value of this filter."""
        return replace(self, filters=tuple(each for each in self.filters if each != (name, value)))

    @property
    def modes(self) -> list[dict[str, Any]]:
        """Return the modes to switch between, as links."""
        return [
            {"label": label, "address": replace(self, mode=mode).address, "is_current": mode == self.mode}
            for mode, label in MODES.items()
        ]

    @property
    def orders(self) -> list[dict[str, Any]]:
        """Return the orders to choose from, as links."""
        return [
            {"label": label, "address": replace(self, sort=sort).address, "is_current": sort == self.sort}
            for sort, label in ORDERS.items()
        ]

    @property
    def hit_counts(self) -> list[dict[str, Any]]:
        """Return the numbers of hits to choose from, as links."""
        return [
            {"label": k, "address": replace(self, k=k).address, "is_current": k == self.k} for k in HIT_COUNTS
        ]

    def query(self) -> SearchQuery:
        """Build the query. Raises InvalidQuery, naming the parameter."""
        if self.k not in HIT_COUNTS:
            raise InvalidQuery(f"k is {preview(self.k)}; a page shows {', '.join(HIT_COUNTS)} hits.")
        return SearchQuery(
            text=self.text,
            operators=True,
            mode=Mode(self.mode),
            group=Group.DOCUMENT,
            k=int(self.k),
            sort=self.sort,
            typos=self.typos,
            prefix=True,
            filters=self.search_filters(),
            snippet_chars=_SNIPPET_CHARS,
        )

    def search_filters(self) -> SearchFilters:
        """Build the filters. Raises InvalidFilter, naming filter and value."""
        return filters_from_json(self.filters_json())

    def filters_json(self) -> dict[str, Any]:
        """Return the filters as the API has them. Raises InvalidFilter for too many."""
        if len(self.filters) > _MAX_VALUES:
            raise InvalidFilter(f"There are {len(self.filters)} filters; give {_MAX_VALUES} at most.")
        given: dict[str, Any] = {}
        for name, value in self.filters:
            given[name] = value if name in SINGLE else [*given.get(name, ()), value]
        # A date alone, as a browser's date field sends it, means midnight UTC.
        return given | {
            name: f"{given[name]}T00:00:00Z"
            for name in MOMENTS
            if name in given and _DATE.fullmatch(given[name])
        }


def _parse_filters(parameters: QueryDict) -> list[tuple[str, str]]:
    """Return the filters, each value once, without the blanks of a form's empty fields."""
    given = [(name, value) for name in FILTER_LABELS for value in parameters.getlist(name) if value]
    return [
        each
        for place, each in enumerate(given)
        if each not in given[:place] and (each[0] not in SINGLE or each[0] not in dict(given[place + 1 :]))
    ]
