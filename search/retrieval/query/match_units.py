"""Units of a query: what is matched and scored as one, as expressions that FTS5 never refuses."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from typing import Any, Protocol

#: Maximum number of index terms of a plain query; the rarest of a longer one are searched.
MAX_TOKENS = 256
#: Maximum number of positions of a phrase. FTS5 compares them in every chunk that has the words, and can't be
#: interrupted meanwhile: 500 positions take 0.3 s over 38,000 chunks.
MAX_POSITIONS = 128
# Counting every word of a pasted book would take the time that the cap saves.
MAX_COUNTED_UNITS = 512

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")

#: Returns the number of chunks with each of the index terms, without those that no chunk has.
Frequencies = Callable[[Iterable[str]], Mapping[str, int]]


class Analysis(Protocol):
    """The analysis of texts and query terms by the index."""

    def analyse(self, text: str) -> Sequence[tuple[Any, ...]]:
        """Return the tokens of a text: start and end, then the index terms at this position."""
        ...

    def query_terms(self, term: str, language: str | None) -> tuple[tuple[str, ...], ...]:
        """Return the alternative index terms at each position of the phrase of `term`."""
        ...

    def joined_terms(self, term: str, language: str | None) -> tuple[str, ...]:
        """Return the index terms of `term` as one word if it is written in parts; else none."""
        ...

    def number_terms(self, text: str) -> Sequence[tuple[int, int, tuple[str, ...]]]:
        """Return the numbers in parts of a text: start and end in characters, and their index terms."""
        ...

    def word_tokens(self, word: str, language: str | None) -> Sequence[tuple[int, int, tuple[str, ...]]]:
        """Return the code-point offsets of start and end, and the terms, of a word's tokens."""
        ...

    def joined_tokens(self, text: str, language: str | None) -> Sequence[tuple[int, int, tuple[str, ...]]]:
        """Return the same of each word of a text that is written in parts, with the terms of the whole."""
        ...

    def is_prefix(self, term: str) -> bool:
        """Return whether the phrase of `term` ends in a prefix of index terms."""
        ...

    def relaxed_terms(self, term: str) -> tuple[str, ...]:
        """Return the smaller terms for a wider search, any of which may match; `term` if there are none."""
        ...

    def encode_phrase(self, positions: Sequence[Sequence[str]]) -> str:
        """Return the FTS5 string for a phrase of index terms."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchUnit:
    """A term of the query, or a piece of one, that is matched and scored as one."""

    #: As typed; units that match the same are equal.
    term: str = field(compare=False)
    #: In FTS5 syntax.
    expression: str = field(compare=False)
    #: The alternative index terms at each position of the phrase.
    positions: tuple[tuple[str, ...], ...]
    #: Whether the last term is a prefix.
    is_prefix: bool = False
    #: The unit of the phrase written as one word.
    joined: "MatchUnit | None" = None
    #: The unit itself and its synonyms, if one of them is a phrase.
    synonyms: "tuple[MatchUnit, ...]" = ()
    #: The phrase as typed, if a text must have it so (`is_written_in`), not just its stems.
    written: str | None = None

    @property
    def is_word(self) -> bool:
        """Return whether it is one index term with its alternatives: no phrase and no prefix."""
        return len(self.positions) == 1 and not self.is_prefix and not self.synonyms

    @property
    def tokens(self) -> frozenset[str]:
        """Return the main index terms to look up."""
        return frozenset([alternatives[0] for alternatives in self.positions])


#: Returns the positions of a unit.
positions_of = attrgetter("positions")


def build_units(
    terms: Iterable[str], analysis: Analysis, language: str | None = None
) -> tuple[MatchUnit, ...]:
    """Return the distinct units of the terms, in order."""
    return tuple(dict.fromkeys(build_unit(term, analysis, language) for term in terms))


def build_unit(term: str, analysis: Analysis, language: str | None) -> MatchUnit:
    """Return the unit of one term."""
    positions = analysis.query_terms(term, language)
    is_prefix = analysis.is_prefix(term)
    is_plain = max(map(len, positions), default=1) == 1
    phrase = quote_term(term) if is_plain else analysis.encode_phrase(positions)
    expression = f"{phrase} *" if is_prefix else phrase
    joined = None
    if terms := analysis.joined_terms(term, language):
        joined = MatchUnit(term=term, expression=analysis.encode_phrase([terms]), positions=(terms,))
        expression = f"({expression} OR {joined.expression})"
    return MatchUnit(
        term=term, expression=expression, positions=positions, is_prefix=is_prefix, joined=joined
    )


def compile_all(units: Iterable[MatchUnit]) -> str:
    """Return the expression that matches chunks with every unit."""
    return " AND ".join(unit.expression for unit in units)


def compile_any(units: Iterable[MatchUnit]) -> str:
    """Return the expression that matches chunks with any of the units."""
    return " OR ".join(unit.expression for unit in units)


def quote_term(term: str) -> str:
    """Return `term` as an FTS5 string, which FTS5 tokenizes like text: `he"llo` is `"he""llo"`."""
    # NUL ends even a quoted string in FTS5, and lone surrogates have no UTF-8.
    return '"' + _UNPRINTABLE.sub("", term).replace('"', '""') + '"'


def cap_units(
    units: Sequence[MatchUnit], analysis: Analysis, frequencies: Frequencies, most: int = MAX_TOKENS
) -> tuple[MatchUnit, ...]:
    """Return the rarest units with at most `most` distinct index terms, in order; all units of a short query.

    `frequencies` is called only for more, once for all units. Units that occur nowhere count as the most
    frequent, as they match nothing. A unit of more index terms, or that is cut, is split into its pieces.
    """
    if len(all_tokens(units)) <= most and max(map(len, map(positions_of, units)), default=0) < MAX_POSITIONS:
        return tuple(units)
    fitting = dict.fromkeys(piece for unit in units for piece in _split_large_unit(unit, analysis, most))
    counted = list(islice(fitting, MAX_COUNTED_UNITS))
    counts = frequencies(all_tokens(counted))
    frequency = {unit: min(counts.get(token, 0) for token in unit.tokens) for unit in counted}
    rarest_first = sorted(counted, key=lambda unit: (not frequency[unit], frequency[unit]))
    kept = _take_within_limit(rarest_first, most)
    return tuple(unit for unit in counted if unit in kept)


def all_tokens(units: Iterable[MatchUnit]) -> frozenset[str]:
    """Return the main index terms of all units."""
    return frozenset([alternatives[0] for unit in units for alternatives in unit.positions])


def _split_large_unit(unit: MatchUnit, analysis: Analysis, most: int) -> tuple[MatchUnit, ...]:
    if len(unit.tokens) <= most and len(unit.positions) < MAX_POSITIONS:
        return (unit,)
    return build_units(analysis.relaxed_terms(unit.term), analysis)


def _take_within_limit(rarest_first: Sequence[MatchUnit], most: int) -> set[MatchUnit]:
    kept: set[MatchUnit] = set()
    searched: set[str] = set()
    for unit in rarest_first:
        if len(searched | unit.tokens) <= most:
            kept.add(unit)
            searched |= unit.tokens
    return kept
