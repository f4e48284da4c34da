"""Comparisons with the words of a passage, its title and its author, as the mirror's index evaluates them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from search.retrieval.query.conditions import TEXT_TESTS, Comparison
from search.retrieval.query.match_units import Analysis, MatchUnit
from search.retrieval.query.titles import has_words, indexed_headings, title_key


@dataclass(frozen=True, kw_only=True)
class WordedPassage:
    """The texts of a passage and its document whose words are compared."""

    breadcrumb: str
    text: str
    path: str
    title: str
    author: str
    analysis: Analysis

    def meets(self, comparison: Comparison) -> bool:
        """Return whether it meets a comparison of words, or of its title."""
        if comparison.field == "words":
            return any(map(self._has_unit, comparison.values))
        text = title_key(self.title if comparison.field == "title" else self.author)
        if comparison.test == "has_words":
            return any(has_words(key, text) for key in comparison.values)
        return any(TEXT_TESTS[comparison.test](text, key) for key in comparison.values)

    def _has_unit(self, unit: MatchUnit) -> bool:
        units = [unit] if unit.joined is None else [unit, unit.joined]
        return any(_occurs(each, terms) for each in units for terms in self._columns)

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
