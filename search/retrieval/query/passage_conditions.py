"""Conditions of typed operators on a passage, as the mirror's index would evaluate them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from search.retrieval.query.match_units import Analysis, MatchUnit
from search.retrieval.query.operator_values import Column
from search.retrieval.query.operators import Condition, QueryOperators
from search.retrieval.query.titles import indexed_headings, title_key


@dataclass(frozen=True, kw_only=True)
class ConditionedPassage:
    """The fields of a passage and its document that conditions are about."""

    breadcrumb: str
    text: str
    path: str
    title: str
    media: str
    lang: str
    code_lang: str
    tags: Sequence[str]
    source: str
    author: str
    #: See `search.retrieval.document_date`.
    dated_at: float
    analysis: Analysis

    def unmet(self, operators: QueryOperators) -> Iterator[Condition]:
        """Yield the conditions that it doesn't meet."""
        for condition in operators.conditions:
            holds = any(self._has(column, value) for column, value in condition.alternatives)
            if holds is condition.is_exclusion:
                yield condition

    def _has(self, column: Column, value: Any) -> bool:
        if column == "words":
            units = [value] if value.joined is None else [value, value.joined]
            return any(_occurs(unit, terms) for unit in units for terms in self._columns)
        if column in ("path", "author"):
            return bool(value(getattr(self, column)))
        if column == "title":
            return bool(value(title_key(self.title)))
        if column == "after":
            return self.dated_at >= float(value)
        if column == "before":
            return self.dated_at < float(value)
        texts = self.tags if column == "tag" else (getattr(self, column),)
        # SQLite's NOCASE folds ASCII alone, as bytes.lower does.
        return any(text.encode().lower() == value.encode().lower() for text in texts)

    @cached_property
    def _columns(self) -> list[list[frozenset[str]]]:
        """The index terms at each position of its headings, and of its text."""
        columns = (indexed_headings(self.breadcrumb, self.path), self.text)
        return [[frozenset(token[2:]) for token in self.analysis.analyse(column)] for column in columns]


def _occurs(unit: MatchUnit, terms: Sequence[frozenset[str]]) -> bool:
    """Return whether the phrase of a unit occurs in a text, as in FTS5."""
    *before, last = unit.positions
    for at, ending in enumerate(terms[len(before) :]):
        fits = (
            any(term.startswith(last) for term in ending) if unit.is_prefix else not ending.isdisjoint(last)
        )
        if fits and not any(terms[at + place].isdisjoint(each) for place, each in enumerate(before)):
            return True
    return False
