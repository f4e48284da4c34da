"""Parsing of typed queries, and their compilation to FTS5 match expressions that FTS5 never refuses.

A query is *plain* (the default): white-space runs, each quoted. It is *raw*, FTS5 syntax, only if the
whole trimmed query is wrapped in one pair of '…'. A quote inside closes the pair, so `'foo' bar` and `'foo'
OR 'bar'` are plain; inside an FTS5 string "…" it belongs to the string, so `'"don't" OR foo'` is raw.
Outside a string FTS5 has no such quote, so every valid FTS5 query can be written.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any, Protocol

from search.retrieval.errors import InvalidQuery, preview
from search.retrieval.query.rules import NO_RULES, SearchRules
from search.retrieval.query.stopwords import content_terms, language_of
from search.retrieval.text.unicode_scripts import fold, has_token, is_unspaced, words_of

#: Maximum number of index terms of a plain query; the rarest of a longer one are searched.
MAX_TOKENS = 256
#: Maximum number of words of a raw query, and of terms that snippets mark: FTS5 takes 1.1 s for an OR of
#: 1,000 terms over 20,000 chunks.
MAX_RAW_TOKENS = 32
# Saturation of a word's repetitions in a query, k3 of Okapi bm25.
_K3 = 8.0
#: FTS5 takes 53 s to parse an OR of 50,000 words and can't be interrupted meanwhile.
MAX_RAW_CHARS = 2_000
#: 26 one-letter prefixes OR-ed over 100,000 chunks take 5.9 s.
MIN_PREFIX_CHARS = 3
# A beginning of this length is taken for the stem of a longer word that is being typed.
_MIN_STEM_CHARS = 4
# Counting every word of a pasted book would take the time that the cap saves.
_MAX_COUNTED_UNITS = 512
# Words of a query whose repetitions are counted.
_MAX_COUNTED_TERMS = 4 * _MAX_COUNTED_UNITS
# A longer term is a page without spaces or a key.
_MAX_TERM_CHARS = 1_000

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
# Without white space.
_UNPRINTABLE_IN_RUNS = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]+")

# Clitics, attached by an apostrophe: l'eau, dell'arte, Newton's, don't.
_CLITIC = re.compile(
    "\\b[a-z\u00e0-\u00ff]{1,2}['\u2019](?=\\w)|(?<=\\w)['\u2019][a-z\u00e0-\u00ff]{1,2}\\b", re.IGNORECASE
)
_OPERATORS = {"and", "or", "not", "near"}
_RAW_TERM = re.compile(r'"([^"]*)"|([^\s"()*+^:{},]++)(?!\s*:)')
_STRING = re.compile(r'"[^"]*"')
# A bareword is matched from its first character only and possessively; else the time would be quadratic.
_PREFIX = re.compile(r'(?:"([^"]*)"|(?<![^\s"()*+^:{},])([^\s"()*+^:{},]++))\s*\*')


#: Returns the number of chunks with each of the index terms, without those that no chunk has.
Frequencies = Callable[[Iterable[str]], Mapping[str, int]]


#: Returns the most common index terms that begin with a folded word.
Complete = Callable[[str], Sequence[str]]


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

    @property
    def is_word(self) -> bool:
        """Return whether it is one index term with its alternatives: no phrase and no prefix."""
        return len(self.positions) == 1 and not self.is_prefix and not self.synonyms

    @property
    def tokens(self) -> frozenset[str]:
        """Return the main index terms to look up."""
        return frozenset(alternatives[0] for alternatives in self.positions)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainMatch:
    """A plain query with two ways to match it, the second wider."""

    #: Every term.
    every: tuple[MatchUnit, ...]
    #: Any of these: the pieces of the terms, without stop words.
    some: tuple[MatchUnit, ...]
    #: Those of `some` that snippets mark.
    marked: tuple[MatchUnit, ...]
    #: The weights of units whose terms are repeated, above 1.
    repeated: Mapping[MatchUnit, float]
    #: In which the terms are stemmed, besides English.
    language: str | None
    #: The last word with the words that begin with it.
    completed: MatchUnit | None = None

    def with_prefix(self, last: str, analysis: Analysis, complete: Complete) -> "PlainMatch":
        """Return the match in which `last`, a single word, also matches words that begin with it."""
        word = fold(last)
        if len(word) < MIN_PREFIX_CHARS or not word.isalnum() or is_unspaced(word[0]):
            return self
        whole = _build_unit(last, analysis, self.language)
        stems = (word[:end] for end in range(_MIN_STEM_CHARS, len(word)))
        terms = tuple(dict.fromkeys((*chain.from_iterable(whole.positions), *complete(word), *stems)))
        unit = MatchUnit(term=last, expression=analysis.encode_phrase([terms]), positions=(terms,))
        every = tuple(unit if each == whole else each for each in self.every)
        # What has the word itself counts twice.
        return replace(
            self, every=every, some=(*self.some, unit), marked=(*self.marked, unit), completed=unit
        )

    @property
    def marked_units(self) -> tuple[MatchUnit, ...]:
        """Return the units to highlight in a snippet: the phrases as a whole, then the pieces."""
        several = (unit.synonyms or (unit,) for unit in self.every if not unit.is_word)
        phrases = list(islice(chain.from_iterable(several), MAX_RAW_TOKENS))
        joined = [unit.joined for unit in phrases if unit.joined is not None]
        return tuple(dict.fromkeys((*phrases, *joined, *self.marked)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedQuery:
    """A query as typed: a raw FTS5 expression, or terms; neither when it is blank."""

    #: FTS5 syntax, unchecked; the caller raises `InvalidQuery` for a syntax error.
    raw: str | None = None
    #: White-space runs in order, duplicates and runs without a token included.
    terms: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return whether the query can match nothing, so that no SQL is needed."""
        return self.raw is None and not any(has_token(term) for term in self.terms)


def parse_query(text: str) -> ParsedQuery:
    """Split `text` at white space, or unwrap its raw expression; drop control characters and surrogates."""
    # In one call: a megabyte of short words, one by one, takes 80 ms instead of 20.
    words = tuple(_UNPRINTABLE_IN_RUNS.sub("", text).split())
    raw = _raw_expression(" ".join(words))
    if raw is None:
        return ParsedQuery(terms=words)
    return ParsedQuery(raw=raw or None)


def _strip_unprintable(run: str) -> str:
    # NUL ends even a quoted string in FTS5, and lone surrogates have no UTF-8.
    return _UNPRINTABLE.sub("", run)


def _raw_expression(query: str) -> str | None:
    if len(query) < 2 or not query.startswith("'") or not query.endswith("'"):
        return None
    inside = query[1:-1]
    return None if "'" in _STRING.sub("", inside) else inside.strip()


def check_size(raw: str) -> None:
    """Check the length and number of words of a raw expression. Raises: InvalidQuery."""
    if len(raw) > MAX_RAW_CHARS:
        raise InvalidQuery(f"The raw query has {len(raw)} characters; write {MAX_RAW_CHARS} at most.")
    words = set(words_of(raw)) - _OPERATORS
    if len(words) > MAX_RAW_TOKENS:
        raise InvalidQuery(f"The raw query has {len(words)} words; write {MAX_RAW_TOKENS} at most.")


def check_prefixes(raw: str) -> None:
    """Check the prefix queries of a raw expression: a short prefix is slow, except in an unspaced script.

    An expression that begins with a star is refused, too, as FTS5 takes it for an internal command.
    Raises: InvalidQuery, naming the prefix.
    """
    if raw.startswith("*"):
        raise InvalidQuery(
            f"The raw query {preview(raw)} begins with a star;"
            " write it behind the beginning of a word: word*."
        )
    for string, bareword in _PREFIX.findall(raw):
        words = words_of(string or bareword)
        if words and len(words[-1]) < MIN_PREFIX_CHARS and not is_unspaced(words[-1]):
            raise InvalidQuery(
                f"The prefix {preview(words[-1] + '*')} is too short; give it {MIN_PREFIX_CHARS} characters."
            )


def build_plain_match(
    terms: Sequence[str], analysis: Analysis, frequencies: Frequencies, rules: SearchRules = NO_RULES
) -> PlainMatch | None:
    """Compile the terms of a plain query; return None if none of them has an index term.

    `frequencies` is called only for more than 32 terms. If terms and pieces together have more than 256
    distinct index terms, the pieces are used for both. A term matches its synonyms, too.
    """
    wanted = rules.without_stop_words(_searchable_terms(terms))
    if not wanted:
        return None
    language = language_of(chain.from_iterable(map(words_of, wanted)))
    frequencies = _keep_counts(frequencies)
    synonyms = _build_synonyms(wanted, analysis, language, rules)
    every = cap_units(_every_unit(wanted, synonyms, analysis, language), analysis, frequencies)
    some = cap_units(
        _some_units([unit.term for unit in every], synonyms, analysis, language), analysis, frequencies
    )
    is_searchable = len(_all_tokens((*every, *some))) <= MAX_TOKENS
    return PlainMatch(
        every=every if is_searchable else some,
        some=some,
        marked=cap_units(some, analysis, frequencies, MAX_RAW_TOKENS),
        repeated=_weigh_repeated({*some}, terms, analysis, language) if len(every) < len(terms) else {},
        language=language,
    )


def _keep_counts(frequencies: Frequencies) -> Frequencies:
    """Return `frequencies`, asked for each term once."""
    counted: set[str] = set()
    known: dict[str, int] = {}

    def known_frequencies(terms: Iterable[str]) -> Mapping[str, int]:
        unknown = set(terms) - counted
        if unknown:
            known.update(frequencies(unknown))
            counted.update(unknown)
        return known

    return known_frequencies


def _weigh_repeated(
    searched: Set[MatchUnit], terms: Sequence[str], analysis: Analysis, language: str | None
) -> dict[MatchUnit, float]:
    """Return those of `searched` that are repeated in `terms`, with their weights.

    These are bm25's for a word that a query has `n` times, `n (k3 + 1) / (n + k3)`.
    """
    counts: Counter[MatchUnit] = Counter()
    for term, count in Counter(terms[:_MAX_COUNTED_TERMS]).items():
        pieces = analysis.relaxed_terms(_CLITIC.sub(" ", term[:_MAX_TERM_CHARS]))
        counts.update(dict.fromkeys(build_units(pieces, analysis, language), count))
    return {
        unit: count * (_K3 + 1.0) / (count + _K3)
        for unit, count in counts.items()
        if count > 1 and unit in searched
    }


def content_units(terms: Sequence[str], analysis: Analysis) -> tuple[MatchUnit, ...]:
    """Return the units of the content words of a plain query."""
    return _build_match(terms, analysis).some


def marked_units(
    text: str, analysis: Analysis, rules: SearchRules = NO_RULES
) -> tuple[tuple[MatchUnit, ...], str | None]:
    """Return the units of a query that snippets mark, and the language that they are stemmed in."""
    parsed = parse_query(text)
    if parsed.raw is not None:
        return raw_units(parsed.raw, analysis), None
    match = _build_match(parsed.terms, analysis, rules)
    return match.marked_units, match.language


def _build_match(terms: Sequence[str], analysis: Analysis, rules: SearchRules = NO_RULES) -> PlainMatch:
    """Return all units of a plain query, more than may be searched for a long one."""
    wanted = rules.without_stop_words(_searchable_terms(terms))
    language = language_of(chain.from_iterable(map(words_of, wanted)))
    synonyms = _build_synonyms(wanted, analysis, language, rules)
    every = _every_unit(wanted, synonyms, analysis, language)
    some = _some_units(wanted, synonyms, analysis, language)
    return PlainMatch(every=every, some=some, marked=some, repeated={}, language=language)


@dataclass(frozen=True, slots=True)
class _Synonyms:
    """Terms of a query, from `start` to `stop`, with the unit of all ways to say them."""

    start: int
    stop: int
    unit: MatchUnit


def _build_synonyms(
    terms: Sequence[str], analysis: Analysis, language: str | None, rules: SearchRules
) -> list[_Synonyms]:
    if not rules.synonyms:
        return []
    words = [tuple(words_of(term)) for term in terms]
    return [
        _Synonyms(start, stop, _build_synonym_unit(terms[start:stop], others, analysis, language))
        for start, stop, others in rules.alternatives(words)
    ]


def _build_synonym_unit(
    terms: Sequence[str], others: Iterable[str], analysis: Analysis, language: str | None
) -> MatchUnit:
    own = [_build_unit(term, analysis, language) for term in terms]
    synonyms = [_build_unit(other, analysis, language) for other in others]
    text = " ".join(terms)
    if len(own) == 1 and all(unit.is_word for unit in (*own, *synonyms)):
        words = tuple(dict.fromkeys(word for unit in (*own, *synonyms) for word in unit.positions[0]))
        return MatchUnit(term=text, expression=analysis.encode_phrase([words]), positions=(words,))
    either = (f"({compile_all(own)})", *(unit.expression for unit in synonyms))
    return MatchUnit(
        term=text,
        expression=f"({' OR '.join(either)})",
        positions=tuple(chain.from_iterable(unit.positions for unit in own)),
        synonyms=(*own, *synonyms),
    )


def _every_unit(
    terms: Sequence[str], synonyms: Sequence[_Synonyms], analysis: Analysis, language: str | None
) -> tuple[MatchUnit, ...]:
    """Return the units of the terms; one for terms that have synonyms."""
    if not synonyms:
        return build_units(terms, analysis, language)
    units: dict[MatchUnit, None] = {}
    end = 0
    for each in synonyms:
        units |= dict.fromkeys(build_units(terms[end : each.start], analysis, language))
        units[each.unit] = None
        end = each.stop
    return (*dict.fromkeys((*units, *build_units(terms[end:], analysis, language))),)


def _some_units(
    terms: Sequence[str], synonyms: Sequence[_Synonyms], analysis: Analysis, language: str | None
) -> tuple[MatchUnit, ...]:
    """Return the units of the pieces of the terms; a piece that has synonyms is one unit with them."""
    units = build_units(_content_pieces(terms, analysis, language), analysis, language)
    if not synonyms:
        return units
    by_term = {each.unit.term: each.unit for each in synonyms}
    replaced = (by_term.pop(unit.term, unit) for unit in units)
    return (*dict.fromkeys((*replaced, *by_term.values())),)


def raw_units(raw: str, analysis: Analysis) -> tuple[MatchUnit, ...]:
    """Return the units of the words and strings of a raw expression, whatever its operators mean."""
    terms = (string or word for string, word in _RAW_TERM.findall(raw))
    return build_units((each for each in terms if has_token(each) and not _is_operator(each)), analysis)


def _is_operator(word: str) -> bool:
    return word.isupper() and word.lower() in _OPERATORS


def _searchable_terms(terms: Sequence[str]) -> list[str]:
    """Return the first distinct terms that have an index term, cut to the maximum length."""
    cut = (term[:_MAX_TERM_CHARS] for term in terms)
    return list(islice((term for term in dict.fromkeys(cut) if has_token(term)), _MAX_COUNTED_UNITS))


def _content_pieces(terms: Sequence[str], analysis: Analysis, language: str | None) -> list[str]:
    """Return the pieces of the terms without stop words and single unspaced characters, if any are left."""
    pieces = [piece for term in terms for piece in analysis.relaxed_terms(_CLITIC.sub(" ", term))]
    content = content_terms(pieces or terms, language)
    specific = [piece for piece in content if not analysis.is_prefix(piece)]
    return specific or list(content)


def build_units(
    terms: Iterable[str], analysis: Analysis, language: str | None = None
) -> tuple[MatchUnit, ...]:
    """Return the distinct units of the terms, in order."""
    return tuple(dict.fromkeys(_build_unit(term, analysis, language) for term in terms))


def _build_unit(term: str, analysis: Analysis, language: str | None) -> MatchUnit:
    positions = analysis.query_terms(term, language)
    is_prefix = analysis.is_prefix(term)
    is_plain = all(len(alternatives) == 1 for alternatives in positions)
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
    return '"' + _strip_unprintable(term).replace('"', '""') + '"'


def cap_units(
    units: Sequence[MatchUnit], analysis: Analysis, frequencies: Frequencies, most: int = MAX_TOKENS
) -> tuple[MatchUnit, ...]:
    """Return the rarest units with at most `most` distinct index terms, in order; all units of a short query.

    `frequencies` is called only for more, once for all units. Units that occur nowhere count as the most
    frequent, as they match nothing. A unit of more index terms is split into its pieces.
    """
    if len(_all_tokens(units)) <= most:
        return tuple(units)
    fitting = dict.fromkeys(piece for unit in units for piece in _split_large_unit(unit, analysis, most))
    counted = list(islice(fitting, _MAX_COUNTED_UNITS))
    counts = frequencies(_all_tokens(counted))
    frequency = {unit: min(counts.get(token, 0) for token in unit.tokens) for unit in counted}
    rarest_first = sorted(counted, key=lambda unit: (not frequency[unit], frequency[unit]))
    kept = _take_within_limit(rarest_first, most)
    return tuple(unit for unit in counted if unit in kept)


def _all_tokens(units: Iterable[MatchUnit]) -> frozenset[str]:
    return frozenset().union(*(unit.tokens for unit in units))


def _split_large_unit(unit: MatchUnit, analysis: Analysis, most: int) -> tuple[MatchUnit, ...]:
    if len(unit.tokens) <= most:
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
