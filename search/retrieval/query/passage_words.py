"""Comparisons with the words of a passage, its title and its author, as the mirror's index evaluates them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from search.retrieval.query.conditions import TEXT_TESTS, Comparison
from search.retrieval.query.match_units import Analysis, MatchUnit
from search.retrieval.query.titles import has_words, indexed_headings, title_key
from search.retrieval.text.unicode_scripts import (
    accented_words_of,
    fold_text,
    is_unspaced,
    keep_accents_of_text,
    words_of,
)

_MAX_CACHED_PHRASES: Final = 256


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
        return any(
            _occurs(each, terms) and (unit.written is None or is_written_in(unit.written, text))
            for each in units
            for text, terms in self._columns
        )

    @cached_property
    def _columns(self) -> list[tuple[str, list[frozenset[str]]]]:
        """Its headings, and its text, each with the index terms at each position."""
        columns = (indexed_headings(self.breadcrumb, self.path), self.text)
        return [
            (column, [frozenset(token[2:]) for token in self.analysis.analyse(column)]) for column in columns
        ]


def is_written_in(phrase: str, text: str) -> bool:
    """Return whether the words of a phrase stand in a row in a text as they are written.

    Case and dividers don't count, accents only if the phrase has some.
    """
    pattern, has_accents = _compile_phrase(phrase)
    return pattern.search((keep_accents_of_text if has_accents else fold_text)(text)) is not None


@lru_cache(maxsize=_MAX_CACHED_PHRASES)
def _compile_phrase(phrase: str) -> tuple[re.Pattern[str], bool]:
    """Return the pattern of a phrase, and whether it has accents; unspaced scripts have no ends of words."""
    plain, accented = words_of(phrase), accented_words_of(phrase)
    words = r"[\W_]*".join(map(_pattern_of_word, accented))
    start = "" if is_unspaced(accented[0][0]) else r"(?<![^\W_])"
    end = "" if is_unspaced(accented[-1][-1]) else r"(?![^\W_]|\+\+|#)"
    return re.compile(f"{start}{words}{end}"), plain != accented


def _pattern_of_word(word: str) -> str:
    return r"\s*".join(map(re.escape, word)) if is_unspaced(word[0]) else re.escape(word)


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
