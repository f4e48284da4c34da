"""A query compiled for an index of words: as FTS5 expressions, and as the units that they consist of."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

from search.analysis import STEMMED, Analysis
from search.analysis.words import accented_term
from search.retrieval.query.match_units import (
    Frequencies,
    MatchUnit,
    build_unit,
    compile_all,
    compile_any,
)
from search.retrieval.query.parser import (
    check_prefixes,
    check_size,
    parse_query,
    raw_units,
    starred_word,
)
from search.retrieval.query.plain_match import Complete, PlainMatch, build_plain_match
from search.retrieval.query.rules import NO_RULES, SearchRules
from search.retrieval.text.unicode_scripts import fold

# In queries of a few words the letters that are typed tell what is meant. In questions they don't: weights of
# accents of 0.15 and 0.5 lose 0.001 and 0.004 in nDCG@10 on xquad-de, one of names of 1.25 0.001 on xquad-en.
_FEW_WORDS: Final = 3
# Weights of a word with its accents, beside the word without them; in a query of one word no number of
# occurrences without accents outweighs one with them.
_ACCENTS_ALONE: Final = 2.0
_ACCENTS: Final = 0.5
# Weight of a name: a capitalised word behind others in lower case.
_NAME: Final = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A query as match expressions, and as the units that they consist of."""

    #: Every term, or the raw expression.
    every: str
    #: Any of the content terms; '' where relaxing adds nothing.
    some: str
    is_raw: bool
    every_units: tuple[MatchUnit, ...] = ()
    some_units: tuple[MatchUnit, ...] = ()
    #: Units that snippets mark.
    marked_units: tuple[MatchUnit, ...] = ()
    #: The weights, other than 1, of repeated words, numbers in parts, names and words with accents.
    weights: Mapping[MatchUnit, float] = field(default_factory=dict)
    #: In which the terms are stemmed, besides English; several as in `Analysis.languages`.
    language: str | None = None
    #: The last word of an unfinished query with the words that begin with it.
    completed: MatchUnit | None = None

    @property
    def widest(self) -> str:
        """Return the expression that every hit matches."""
        return self.every if self.is_raw else compile_any(self.marked_units) or self.every


def compile_match(
    text: str,
    frequencies: Frequencies,
    analysis: Analysis = STEMMED,
    *,
    complete: Complete = lambda word, others: (),
    is_unfinished: bool = False,
    rules: SearchRules = NO_RULES,
) -> Match | None:
    """Compile `text` to match expressions; None when it has no terms. Raises InvalidQuery.

    A word with a star, and the last word of an unfinished query, also match words that begin with it.
    """
    parsed = parse_query(text)
    if parsed.raw is not None:
        check_size(parsed.raw)
        check_prefixes(parsed.raw)
        return Match(every=parsed.raw, some="", is_raw=True, marked_units=raw_units(parsed.raw, analysis))
    plain = build_plain_match(parsed.terms, analysis, frequencies, rules)
    if plain is None:
        return None
    if "*" in text:
        plain = _complete_stars(plain, parsed.terms, analysis, complete)
    if is_unfinished:
        plain = plain.with_prefix(parsed.terms[-1], analysis, complete)
    if len(plain.some) <= _FEW_WORDS:
        plain = _weigh_letters(plain, text, analysis)
    every, some = compile_all(plain.every), compile_any(plain.some)
    return Match(
        every=every,
        some=some if some != every else "",
        is_raw=False,
        every_units=plain.every,
        some_units=plain.some,
        marked_units=plain.marked_units,
        weights=plain.weights,
        language=plain.language or analysis.languages,
        completed=plain.completed,
    )


def _complete_stars(
    plain: PlainMatch, terms: Sequence[str], analysis: Analysis, complete: Complete
) -> PlainMatch:
    """Return the match in which each term `word*` stands for the most common words that begin with it."""
    for word in filter(None, map(starred_word, terms)):
        whole = build_unit(word, analysis, plain.language)
        found = tuple(dict.fromkeys((*chain.from_iterable(whole.positions), *complete(fold(word), ()))))
        unit = MatchUnit(term=word, expression=analysis.encode_phrase([found]), positions=(found,))
        every, some, marked = (
            tuple(unit if each == whole else each for each in units)
            for units in (plain.every, plain.some, plain.marked)
        )
        plain = replace(plain, every=every, some=some, marked=marked)
    return plain


def _weigh_letters(plain: PlainMatch, text: str, analysis: Analysis) -> PlainMatch:
    """Return the match in which names count more, and words typed with accents where a text has these."""
    names = [unit for unit in plain.some if unit.term[0].isupper() and not text.startswith(unit.term)]
    weights = dict(plain.weights)
    if len(names) < len(plain.some):
        weights |= dict.fromkeys(names, _NAME)
    accented = [] if text.isascii() else list(_accented_units(plain.some, analysis))
    weights |= dict.fromkeys(accented, _ACCENTS_ALONE if len(plain.some) == 1 else _ACCENTS)
    # A later unit of the same word has its place among the words of a query.
    return replace(plain, some=(*accented, *plain.some), weights=weights) if weights else plain


def _accented_units(units: Iterable[MatchUnit], analysis: Analysis) -> Iterator[MatchUnit]:
    for unit in units:
        if unit.is_word and (term := accented_term(unit.term)) is not None:
            yield MatchUnit(
                term=unit.term, expression=analysis.encode_phrase([(term,)]), positions=((term,),)
            )
