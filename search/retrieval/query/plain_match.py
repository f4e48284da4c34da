"""Plain queries as units to match: every term, else any piece of one, each with its synonyms."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import accumulate, chain, islice

from search.retrieval.query.match_units import (
    MAX_COUNTED_UNITS,
    MAX_TOKENS,
    Analysis,
    Frequencies,
    MatchUnit,
    all_tokens,
    build_unit,
    build_units,
    cap_units,
    compile_all,
    positions_of,
)
from search.retrieval.query.parser import MAX_RAW_TOKENS, parse_query, raw_units
from search.retrieval.query.rules import NO_RULES, SearchRules
from search.retrieval.query.stopwords import content_terms, language_of
from search.retrieval.text.unicode_scripts import fold, has_token, is_unspaced, words_of

# Saturation of a word's repetitions in a query, k3 of Okapi bm25.
_K3 = 8.0
# A single letter is the beginning of too many words.
_MIN_COMPLETED_CHARS = 2
# A beginning of this length and of half the word is taken for the stem of a longer word that is typed.
_MIN_STEM_CHARS = 4
# Each beginning of it is a term.
_MAX_COMPLETED_CHARS = 64
# Words of a query whose repetitions are counted.
_MAX_COUNTED_TERMS = 4 * MAX_COUNTED_UNITS
# The weight of a number in parts, whose parts are units as well: 2.4.1 has those of 1.2.4.
_NUMBER_WEIGHT = 2.0
# Only the start of a query is read for numbers in parts, as a pasted page may be full of them.
_MAX_NUMBERED_CHARS = 4_000
# A longer term is a page without spaces or a key.
_MAX_TERM_CHARS = 1_000

_DIGIT = re.compile(r"\d")

# Clitics, attached by an apostrophe: l'eau, dell'arte, Newton's, don't.
_CLITIC = re.compile(
    "\\b[a-z\u00e0-\u00ff]{1,2}['\u2019](?=\\w)|(?<=\\w)['\u2019][a-z\u00e0-\u00ff]{1,2}\\b", re.IGNORECASE
)

#: Returns the most common index terms that begin with a folded word, and those of the given ones that exist.
Complete = Callable[[str, Collection[str]], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainMatch:
    """A plain query with two ways to match it, the second wider."""

    #: Every term.
    every: tuple[MatchUnit, ...]
    #: Any of these: the pieces of the terms, without stop words.
    some: tuple[MatchUnit, ...]
    #: Those of `some` that snippets mark.
    marked: tuple[MatchUnit, ...]
    #: The weights of units whose terms are repeated, or numbers in parts; above 1.
    weights: Mapping[MatchUnit, float]
    #: In which the terms are stemmed, besides English.
    language: str | None
    #: The last word with the words that begin with it.
    completed: MatchUnit | None = None

    def with_prefix(self, last: str, analysis: Analysis, complete: Complete) -> "PlainMatch":
        """Return the match in which `last`, a single word, also matches words that begin with it.

        A word that no other begins with may be unfinished: its beginnings, among `some` only, are taken for
        stems of longer words.
        """
        word = fold(last)
        is_word = _MIN_COMPLETED_CHARS <= len(word) <= _MAX_COMPLETED_CHARS and word.isalnum()
        if not is_word or is_unspaced(word[0]):
            return self
        whole = build_unit(last, analysis, self.language)
        own = whole.positions[0] if whole.is_word else ()
        found = complete(word, own)
        shortest = len(word) if found else max(_MIN_STEM_CHARS, len(word) // 2)
        terms = tuple(dict.fromkeys((*own, *found, *(word[:end] for end in range(shortest, len(word))))))
        if len(terms) == len(own):
            return self
        unit = MatchUnit(term=last, expression=analysis.encode_phrase([terms]), positions=(terms,))
        every = self.every
        if found:
            longer = unit if own else _either(last, [whole], [unit], analysis)
            every = tuple(longer if each == whole else each for each in every)
        # What has the word itself counts twice.
        return replace(
            self, every=every, some=(*self.some, unit), marked=(*self.marked, unit), completed=unit
        )

    @property
    def marked_units(self) -> tuple[MatchUnit, ...]:
        """Return the units to highlight in a snippet: the phrases as a whole, then the pieces."""
        several = (unit.synonyms or (unit,) for unit in self.every if not unit.is_word)
        phrases = _first_phrases(islice(chain.from_iterable(several), MAX_RAW_TOKENS))
        joined = [unit.joined for unit in phrases if unit.joined is not None]
        return tuple(dict.fromkeys((*phrases, *joined, *self.marked)))


def _first_phrases(phrases: Iterable[MatchUnit]) -> list[MatchUnit]:
    """Return the first phrases that have at most 256 positions together: each is compared with each word."""
    listed = list(phrases)
    sizes = accumulate(map(len, map(positions_of, listed)))
    return [unit for unit, size in zip(listed, sizes, strict=True) if size <= MAX_TOKENS]


def build_plain_match(
    terms: Sequence[str], analysis: Analysis, frequencies: Frequencies, rules: SearchRules = NO_RULES
) -> PlainMatch | None:
    """Compile the terms of a plain query; return None if none of them has an index term.

    `frequencies` is called only for more than 32 terms. If terms and pieces together have more than 256
    distinct index terms, the pieces are used for both. A term matches its synonyms, too.
    """
    merged, numbers = _merge_numbers(terms, analysis)
    wanted = rules.without_stop_words(_searchable_terms(merged))
    if not wanted:
        return None
    language = language_of(chain.from_iterable(map(words_of, wanted)))
    frequencies = _keep_counts(frequencies)
    synonyms = _build_synonyms(wanted, analysis, language, rules)
    every = cap_units(_every_unit(wanted, synonyms, analysis, language), analysis, frequencies)
    pieces = _some_units([unit.term for unit in every], synonyms, analysis, language)
    some = cap_units((*dict.fromkeys((*numbers, *pieces)),), analysis, frequencies)
    is_searchable = len(all_tokens((*every, *some))) <= MAX_TOKENS
    return PlainMatch(
        every=every if is_searchable else some,
        some=some,
        marked=cap_units(some, analysis, frequencies, MAX_RAW_TOKENS),
        weights=dict.fromkeys(numbers, _NUMBER_WEIGHT)
        | (_weigh_repeated({*some}, merged, analysis, language) if len(every) < len(merged) else {}),
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
    merged, numbers = _merge_numbers(terms, analysis)
    wanted = rules.without_stop_words(_searchable_terms(merged))
    language = language_of(chain.from_iterable(map(words_of, wanted)))
    synonyms = _build_synonyms(wanted, analysis, language, rules)
    every = _every_unit(wanted, synonyms, analysis, language)
    some = (*dict.fromkeys((*numbers, *_some_units(wanted, synonyms, analysis, language))),)
    return PlainMatch(every=every, some=some, marked=some, weights={}, language=language)


def _merge_numbers(terms: Sequence[str], analysis: Analysis) -> tuple[Sequence[str], tuple[MatchUnit, ...]]:
    """Return the terms with those that are one number in parts as one, and the units of all such numbers.

    `February 19, 2026` is one term.
    """
    text = " ".join(terms)[:_MAX_NUMBERED_CHARS]
    if not (_DIGIT.search(text) and (found := analysis.number_terms(text))):
        return terms, ()
    units = (
        MatchUnit(term=text[start:end], expression=analysis.encode_phrase([readings]), positions=(readings,))
        for start, end, readings in found
    )
    ends = list(accumulate(len(term) + 1 for term in terms))
    merged: list[str] = []
    after = 0
    for start, end, _ in found:
        first, last = bisect_right(ends, start), bisect_right(ends, end - 1)
        if first < last and first >= after:
            merged += (*terms[after:first], " ".join(terms[first : last + 1]))
            after = last + 1
    return (*merged, *terms[after:]), tuple(dict.fromkeys(units))


def _searchable_terms(terms: Sequence[str]) -> list[str]:
    """Return the first distinct terms that have an index term, cut to the maximum length."""
    cut = (term[:_MAX_TERM_CHARS] for term in terms)
    return list(islice((term for term in dict.fromkeys(cut) if has_token(term)), MAX_COUNTED_UNITS))


def _content_pieces(terms: Sequence[str], analysis: Analysis, language: str | None) -> list[str]:
    """Return the pieces of the terms without stop words and single unspaced characters, if any are left."""
    pieces = [piece for term in terms for piece in analysis.relaxed_terms(_CLITIC.sub(" ", term))]
    content = content_terms(pieces or terms, language)
    specific = [piece for piece in content if not analysis.is_prefix(piece)]
    return specific or list(content)


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
    own = [build_unit(term, analysis, language) for term in terms]
    return _either(
        " ".join(terms), own, [build_unit(other, analysis, language) for other in others], analysis
    )


def _either(
    text: str, own: Sequence[MatchUnit], synonyms: Sequence[MatchUnit], analysis: Analysis
) -> MatchUnit:
    """Return the unit of `text` that has all of `own` or one of `synonyms`."""
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
