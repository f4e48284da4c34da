"""What a person types, compiled to FTS5 match expressions that FTS5 never refuses.

A query is *plain* (the default): white-space runs, each quoted. It is *raw*, FTS5 syntax, only when the
whole trimmed query is wrapped in one pair of '…'. A quote inside closes the pair, so `'foo' bar` and `'foo'
OR 'bar'` are plain; inside an FTS5 string "…" it belongs to the string, so `'"don't" OR foo'` is raw.
Outside a string FTS5 knows no such quote, so nothing that FTS5 accepts is lost.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from search.retrieval.errors import InvalidQuery, shown
from search.retrieval.scripts import has_token, is_unspaced, words_of
from search.retrieval.stopwords import content_terms, language_of

#: OR-ing 1,000 terms over 20,000 chunks takes 1.1 s, 20,000 terms 16.8 s.
MAX_TOKENS = 32
#: 26 one-letter prefixes OR-ed over 100,000 chunks take 5.9 s.
MIN_PREFIX_CHARS = 3
# Looking up the frequency of every word of a pasted book would itself take the time that the cap saves.
_MAX_LOOKED_UP = 512

_STRING = re.compile(r'"[^"]*"')
# A bareword is tried from its first character alone, in one go: from each of them, time would be quadratic.
_PREFIX = re.compile(r'(?:"([^"]*)"|(?<![^\s"()*+^:{},])([^\s"()*+^:{},]++))\s*\*')


class Analysis(Protocol):
    """What the index does to a term of a query."""

    def query_terms(self, term: str, language: str | None) -> tuple[tuple[str, ...], ...]:
        """Give the alternatives at each position of the phrase that `term` looks for."""
        ...

    def is_prefix(self, term: str) -> bool:
        """Say whether `term` is found at the start of an index term."""
        ...

    def analysed_phrase(self, positions: Sequence[Sequence[str]]) -> str:
        """Give the FTS5 string of a phrase of index terms."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What is looked for and scored as one: a term of the query, or a piece of one."""

    #: As FTS5 takes it.
    expression: str
    #: The index terms at each position of the phrase; alternatives count as one.
    positions: tuple[tuple[str, ...], ...]
    #: Whether the last term is the beginning of one.
    is_prefix: bool = False

    @property
    def is_word(self) -> bool:
        """Say whether it is one index term, or alternatives to it: no phrase and no prefix."""
        return len(self.positions) == 1 and not self.is_prefix

    @property
    def tokens(self) -> frozenset[str]:
        """Give the main index terms that have to be looked up."""
        return frozenset(alternatives[0] for alternatives in self.positions)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainMatch:
    """A plain query: three ways to match it, each wider than the one before."""

    #: Every term.
    every: tuple[Unit, ...]
    #: Every term that is no stop word.
    content: tuple[Unit, ...]
    #: Any of these: the content terms, and of a run without spaces its pairs of signs.
    some: tuple[Unit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedQuery:
    """A query as typed: a raw FTS5 expression, or terms; neither when it is blank."""

    #: FTS5 syntax, unchecked: a syntax error is the caller's `InvalidQuery`.
    raw: str | None = None
    #: White-space runs in order, duplicates and runs without a token included.
    terms: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Say whether nothing can match, so that no SQL is needed."""
        return self.raw is None and not any(has_token(term) for term in self.terms)


def parse_query(text: str) -> ParsedQuery:
    """Split `text` at white space, or unwrap its raw expression; control characters and surrogates go."""
    runs = (_printable(run) for run in text.split())
    words = tuple(run for run in runs if run)
    raw = _raw_expression(" ".join(words))
    if raw is None:
        return ParsedQuery(terms=words)
    return ParsedQuery(raw=raw or None)


def _printable(run: str) -> str:
    # FTS5 ends even a quoted string at a NUL, and lone surrogates have no UTF-8.
    return "".join(character for character in run if unicodedata.category(character) not in {"Cc", "Cs"})


def _raw_expression(query: str) -> str | None:
    if len(query) < 2 or not query.startswith("'") or not query.endswith("'"):
        return None
    inside = query[1:-1]
    return None if "'" in _STRING.sub("", inside) else inside.strip()


def check_prefixes(raw: str) -> None:
    """Refuse a raw expression with a prefix query too short to be fast; unspaced scripts need no length.

    Raises: InvalidQuery, naming the prefix.
    """
    for string, bareword in _PREFIX.findall(raw):
        words = words_of(string or bareword)
        if words and len(words[-1]) < MIN_PREFIX_CHARS and not is_unspaced(words[-1]):
            raise InvalidQuery(
                f"The prefix {shown(words[-1] + '*')} is too short; give it {MIN_PREFIX_CHARS} characters."
            )


def match_of(
    terms: Sequence[str], analysis: Analysis, document_frequency: Callable[[str], int]
) -> PlainMatch | None:
    """Give what the terms of a plain query match; None when none of them has an index term.

    `document_frequency` of an index term is asked for when there are too many.
    """
    every = units_of(terms, analysis)
    if not every:
        return None
    content = set(units_of(content_terms(terms), analysis))
    kept = cap_units(every, analysis, document_frequency)
    in_content = tuple(unit for unit in kept if unit in content) or kept
    some = [piece for unit in in_content for piece in relaxed(unit, analysis)]
    capped = cap_units(dict.fromkeys(some), analysis, document_frequency)
    return PlainMatch(every=kept, content=in_content, some=capped)


def units_of(terms: Iterable[str], analysis: Analysis) -> tuple[Unit, ...]:
    """Give a unit for each distinct term that has an index term, in order."""
    wanted = list(terms)
    language = language_of(word for term in wanted for word in words_of(term))
    units: dict[tuple[tuple[str, ...], ...], Unit] = {}
    for term in wanted:
        unit = _unit(term, analysis, language)
        if unit.positions:
            units.setdefault(unit.positions, unit)
    return tuple(units.values())


def _unit(term: str, analysis: Analysis, language: str | None) -> Unit:
    positions = analysis.query_terms(term, language)
    if analysis.is_prefix(term):
        return Unit(expression=f"{quoted(term)} *", positions=positions, is_prefix=True)
    is_plain = all(len(alternatives) == 1 for alternatives in positions)
    expression = quoted(term) if is_plain else analysis.analysed_phrase(positions)
    return Unit(expression=expression, positions=positions)


def relaxed(unit: Unit, analysis: Analysis) -> tuple[Unit, ...]:
    """Give the pieces any of which a relaxed query looks for: those of a phrase with an unspaced run."""
    is_unspaced_phrase = any(is_unspaced(token[0]) for token in unit.tokens)
    return _apart(unit, analysis) if is_unspaced_phrase and not unit.is_prefix else (unit,)


def _apart(unit: Unit, analysis: Analysis) -> tuple[Unit, ...]:
    return tuple(
        Unit(expression=analysis.analysed_phrase([alternatives]), positions=(alternatives,))
        for alternatives in unit.positions
    )


def compile_all(units: Iterable[Unit]) -> str:
    """Give the expression that finds chunks with every unit."""
    return " ".join(unit.expression for unit in units)


def compile_any(units: Iterable[Unit]) -> str:
    """Give the expression that finds chunks with any of the units."""
    return " OR ".join(unit.expression for unit in units)


def quoted(term: str) -> str:
    """Give `term` as an FTS5 string, which FTS5 takes apart as it does a text: `he"llo` is `"he""llo"`."""
    return '"' + _printable(term).replace('"', '""') + '"'


def cap_units(
    units: Iterable[Unit], analysis: Analysis, document_frequency: Callable[[str], int]
) -> tuple[Unit, ...]:
    """Keep at most 32 distinct index terms' worth of units, the rarest, in their order; all of a short query.

    `document_frequency` is asked only when there are more, once an index term. What occurs nowhere counts as
    the commonest: it can find nothing. A unit of more than 32 index terms is taken apart into them.
    """
    whole = list(units)
    if len(frozenset().union(*(unit.tokens for unit in whole))) <= MAX_TOKENS:
        return tuple(whole)
    pieces = [piece for unit in whole for piece in _fitting(unit, analysis)][:_MAX_LOOKED_UP]
    frequency = {unit.positions: min(document_frequency(token) for token in unit.tokens) for unit in pieces}
    rarest_first = sorted(pieces, key=lambda unit: (not frequency[unit.positions], frequency[unit.positions]))
    kept = _within_limit(rarest_first)
    return tuple(dict.fromkeys(unit for unit in pieces if unit.positions in kept))


def _fitting(unit: Unit, analysis: Analysis) -> tuple[Unit, ...]:
    return _apart(unit, analysis) if len(unit.tokens) > MAX_TOKENS else (unit,)


def _within_limit(rarest_first: Sequence[Unit]) -> set[tuple[tuple[str, ...], ...]]:
    kept: set[tuple[tuple[str, ...], ...]] = set()
    searched: set[str] = set()
    for unit in rarest_first:
        if len(searched | unit.tokens) <= MAX_TOKENS:
            kept.add(unit.positions)
            searched |= unit.tokens
    return kept
