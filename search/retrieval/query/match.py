"""What a person types, compiled to FTS5 match expressions that FTS5 never refuses.

A query is *plain* (the default): white-space runs, each quoted. It is *raw*, FTS5 syntax, only when the
whole trimmed query is wrapped in one pair of '…'. A quote inside closes the pair, so `'foo' bar` and `'foo'
OR 'bar'` are plain; inside an FTS5 string "…" it belongs to the string, so `'"don't" OR foo'` is raw.
Outside a string FTS5 knows no such quote, so nothing that FTS5 accepts is lost.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Protocol

from search.retrieval.errors import InvalidQuery, shown
from search.retrieval.query.stopwords import content_terms, language_of
from search.retrieval.text.unicode_scripts import has_token, is_unspaced, words_of

#: OR-ing 1,000 terms over 20,000 chunks takes 1.1 s, 20,000 terms 16.8 s.
MAX_TOKENS = 32
#: FTS5 takes 53 s to read an OR of 50,000 words, and looks at no clock meanwhile.
MAX_RAW_CHARS = 2_000
#: 26 one-letter prefixes OR-ed over 100,000 chunks take 5.9 s.
MIN_PREFIX_CHARS = 3
# Looking up the frequency of every word of a pasted book would itself take the time that the cap saves.
_MAX_LOOKED_UP = 512
# A longer term is a page without spaces, or a key.
_MAX_TERM_CHARS = 1_000

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
# Those that are no white space.
_UNPRINTABLE_IN_RUNS = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]+")

# What an apostrophe hangs on a word: l'eau, dell'arte, Newton's, don't.
_CLITIC = re.compile(
    "\\b[a-z\u00e0-\u00ff]{1,2}['\u2019](?=\\w)|(?<=\\w)['\u2019][a-z\u00e0-\u00ff]{1,2}\\b", re.IGNORECASE
)
_OPERATORS = {"and", "or", "not", "near"}
_STRING = re.compile(r'"[^"]*"')
# A bareword is tried from its first character alone, in one go: from each of them, time would be quadratic.
_PREFIX = re.compile(r'(?:"([^"]*)"|(?<![^\s"()*+^:{},])([^\s"()*+^:{},]++))\s*\*')


#: Gives how many chunks have each of some index terms; of a term that none has, nothing.
Frequencies = Callable[[Iterable[str]], Mapping[str, int]]


class Analysis(Protocol):
    """What the index does to a term of a query."""

    def query_terms(self, term: str, language: str | None) -> tuple[tuple[str, ...], ...]:
        """Return the alternatives at each position of the phrase that `term` looks for."""
        ...

    def is_prefix(self, term: str) -> bool:
        """Return whether the phrase ends in the beginning of an index term."""
        ...

    def relaxed_terms(self, term: str) -> tuple[str, ...]:
        """Return the terms any of which is found where `term` isn't; itself when there are none."""
        ...

    def analysed_phrase(self, positions: Sequence[Sequence[str]]) -> str:
        """Return the FTS5 string of a phrase of index terms."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What is looked for and scored as one: a term of the query, or a piece of one."""

    #: As it was typed; units that look for the same are equal.
    term: str = field(compare=False)
    #: As FTS5 takes it.
    expression: str = field(compare=False)
    #: The index terms at each position of the phrase; alternatives count as one.
    positions: tuple[tuple[str, ...], ...]
    #: Whether the last term is the beginning of one.
    is_prefix: bool = False

    @property
    def is_word(self) -> bool:
        """Return whether it is one index term, or alternatives to it: no phrase and no prefix."""
        return len(self.positions) == 1 and not self.is_prefix

    @property
    def tokens(self) -> frozenset[str]:
        """Return the main index terms that have to be looked up."""
        return frozenset(alternatives[0] for alternatives in self.positions)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainMatch:
    """A plain query: two ways to match it, the second wider."""

    #: Every term.
    every: tuple[Unit, ...]
    #: Any of these: the terms, each in its pieces, without stop words.
    some: tuple[Unit, ...]

    @property
    def marked(self) -> tuple[Unit, ...]:
        """Return what a snippet marks: the phrases as a whole, then the pieces."""
        phrases = (unit for unit in self.every if not unit.is_word)
        return tuple(dict.fromkeys((*phrases, *self.some)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedQuery:
    """A query as typed: a raw FTS5 expression, or terms; neither when it is blank."""

    #: FTS5 syntax, unchecked: a syntax error is the caller's `InvalidQuery`.
    raw: str | None = None
    #: White-space runs in order, duplicates and runs without a token included.
    terms: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return whether nothing can match, so that no SQL is needed."""
        return self.raw is None and not any(has_token(term) for term in self.terms)


def parse_query(text: str) -> ParsedQuery:
    """Split `text` at white space, or unwrap its raw expression; control characters and surrogates go."""
    # All at once: a megabyte of short words, one by one, takes 80 ms instead of 20.
    words = tuple(_UNPRINTABLE_IN_RUNS.sub("", text).split())
    raw = _raw_expression(" ".join(words))
    if raw is None:
        return ParsedQuery(terms=words)
    return ParsedQuery(raw=raw or None)


def _printable(run: str) -> str:
    # FTS5 ends even a quoted string at a NUL, and lone surrogates have no UTF-8.
    return _UNPRINTABLE.sub("", run)


def _raw_expression(query: str) -> str | None:
    if len(query) < 2 or not query.startswith("'") or not query.endswith("'"):
        return None
    inside = query[1:-1]
    return None if "'" in _STRING.sub("", inside) else inside.strip()


def check_size(raw: str) -> None:
    """Refuse a raw expression that is too long, or has too many words. Raises: InvalidQuery."""
    if len(raw) > MAX_RAW_CHARS:
        raise InvalidQuery(f"The raw query has {len(raw)} characters; write {MAX_RAW_CHARS} at most.")
    words = set(words_of(raw)) - _OPERATORS
    if len(words) > MAX_TOKENS:
        raise InvalidQuery(f"The raw query has {len(words)} words; write {MAX_TOKENS} at most.")


def check_prefixes(raw: str) -> None:
    """Refuse a raw expression with a prefix query too short to be fast; unspaced scripts need no length.

    One that begins with the star is refused as well: to FTS5 it is a question about its own workings.
    Raises: InvalidQuery, naming the prefix.
    """
    if raw.startswith("*"):
        raise InvalidQuery(
            f"The raw query {shown(raw)} begins with a star; write it behind the beginning of a word: word*."
        )
    for string, bareword in _PREFIX.findall(raw):
        words = words_of(string or bareword)
        if words and len(words[-1]) < MIN_PREFIX_CHARS and not is_unspaced(words[-1]):
            raise InvalidQuery(
                f"The prefix {shown(words[-1] + '*')} is too short; give it {MIN_PREFIX_CHARS} characters."
            )


def match_of(terms: Sequence[str], analysis: Analysis, frequencies: Frequencies) -> PlainMatch | None:
    """Return what the terms of a plain query match; None when none of them has an index term.

    `frequencies` is asked when there are too many terms. Where these and their pieces have more than 32
    distinct index terms together, the pieces stand for both.
    """
    wanted = _searchable(terms)
    if not wanted:
        return None
    language = language_of(chain.from_iterable(map(words_of, wanted)))
    every = cap_units(units_of(wanted, analysis, language), analysis, frequencies)
    pieces = _content([unit.term for unit in every], analysis, language)
    some = cap_units(units_of(pieces, analysis, language), analysis, frequencies)
    is_searchable = len(_tokens_of((*every, *some))) <= MAX_TOKENS
    return PlainMatch(every=every if is_searchable else some, some=some)


def index_terms(terms: Sequence[str], analysis: Analysis) -> frozenset[str]:
    """Return the index terms that a text is about when it answers the terms of a plain query."""
    wanted = _searchable(terms)
    language = language_of(chain.from_iterable(map(words_of, wanted)))
    units = units_of(_content(wanted, analysis, language), analysis, language)
    return frozenset(term for unit in units for alternatives in unit.positions for term in alternatives)


def _searchable(terms: Sequence[str]) -> list[str]:
    """Return the first distinct terms that have an index term, long ones cut."""
    cut = (term[:_MAX_TERM_CHARS] for term in terms)
    return list(islice((term for term in dict.fromkeys(cut) if has_token(term)), _MAX_LOOKED_UP))


def _content(terms: Sequence[str], analysis: Analysis, language: str | None) -> list[str]:
    """Return the pieces of the terms that say what is looked for: no stop words and no lone signs, if any."""
    pieces = [piece for term in terms for piece in analysis.relaxed_terms(_CLITIC.sub(" ", term))]
    content = content_terms(pieces or terms, language)
    telling = [piece for piece in content if not analysis.is_prefix(piece)]
    return telling or list(content)


def units_of(terms: Iterable[str], analysis: Analysis, language: str | None = None) -> tuple[Unit, ...]:
    """Return a unit for each of the terms that looks for something else, in order."""
    return tuple(dict.fromkeys(_unit(term, analysis, language) for term in terms))


def _unit(term: str, analysis: Analysis, language: str | None) -> Unit:
    positions = analysis.query_terms(term, language)
    is_prefix = analysis.is_prefix(term)
    is_plain = all(len(alternatives) == 1 for alternatives in positions)
    phrase = quoted(term) if is_plain else analysis.analysed_phrase(positions)
    expression = f"{phrase} *" if is_prefix else phrase
    return Unit(term=term, expression=expression, positions=positions, is_prefix=is_prefix)


def compile_all(units: Iterable[Unit]) -> str:
    """Return the expression that finds chunks with every unit."""
    return " ".join(unit.expression for unit in units)


def compile_any(units: Iterable[Unit]) -> str:
    """Return the expression that finds chunks with any of the units."""
    return " OR ".join(unit.expression for unit in units)


def quoted(term: str) -> str:
    """Return `term` as an FTS5 string, which FTS5 takes apart as it does a text: `he"llo` is `"he""llo"`."""
    return '"' + _printable(term).replace('"', '""') + '"'


def cap_units(units: Sequence[Unit], analysis: Analysis, frequencies: Frequencies) -> tuple[Unit, ...]:
    """Keep at most 32 distinct index terms' worth of units, the rarest, in their order; all of a short query.

    `frequencies` is asked only when there are more, once for all. What occurs nowhere counts as the
    commonest: it can find nothing. A unit of more than 32 index terms is taken apart into its pieces.
    """
    if len(_tokens_of(units)) <= MAX_TOKENS:
        return tuple(units)
    fitting = dict.fromkeys(piece for unit in units for piece in _fitting(unit, analysis))
    looked_up = list(islice(fitting, _MAX_LOOKED_UP))
    counts = frequencies(_tokens_of(looked_up))
    frequency = {unit: min(counts.get(token, 0) for token in unit.tokens) for unit in looked_up}
    rarest_first = sorted(looked_up, key=lambda unit: (not frequency[unit], frequency[unit]))
    kept = _within_limit(rarest_first)
    return tuple(unit for unit in looked_up if unit in kept)


def _tokens_of(units: Iterable[Unit]) -> frozenset[str]:
    return frozenset().union(*(unit.tokens for unit in units))


def _fitting(unit: Unit, analysis: Analysis) -> tuple[Unit, ...]:
    if len(unit.tokens) <= MAX_TOKENS:
        return (unit,)
    return units_of(analysis.relaxed_terms(unit.term), analysis)


def _within_limit(rarest_first: Sequence[Unit]) -> set[Unit]:
    kept: set[Unit] = set()
    searched: set[str] = set()
    for unit in rarest_first:
        if len(searched | unit.tokens) <= MAX_TOKENS:
            kept.add(unit)
            searched |= unit.tokens
    return kept
