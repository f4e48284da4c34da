"""A query compiled for an index of words: as FTS5 expressions, and as the units that they consist of."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from search.analysis import STEMMED, Analysis
from search.retrieval.query.match_units import Frequencies, MatchUnit, compile_all, compile_any
from search.retrieval.query.parser import check_prefixes, check_size, parse_query, raw_units
from search.retrieval.query.plain_match import Complete, build_plain_match
from search.retrieval.query.rules import NO_RULES, SearchRules


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
    #: The weights of units whose terms are repeated, above 1.
    repeated: Mapping[MatchUnit, float] = field(default_factory=dict)
    #: In which the terms are stemmed, besides English.
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
    complete: Complete | None = None,
    rules: SearchRules = NO_RULES,
) -> Match | None:
    """Compile `text` to match expressions; None when it has no terms. Raises InvalidQuery.

    With `complete` the last word, unless a blank follows it, also matches words that begin with it.
    """
    parsed = parse_query(text)
    if parsed.raw is not None:
        check_size(parsed.raw)
        check_prefixes(parsed.raw)
        return Match(every=parsed.raw, some="", is_raw=True, marked_units=raw_units(parsed.raw, analysis))
    plain = build_plain_match(parsed.terms, analysis, frequencies, rules)
    if plain is None:
        return None
    if complete is not None and not text[-1:].isspace():
        plain = plain.with_prefix(parsed.terms[-1], analysis, complete)
    every, some = compile_all(plain.every), compile_any(plain.some)
    return Match(
        every=every,
        some=some if some != every else "",
        is_raw=False,
        every_units=plain.every,
        some_units=plain.some,
        marked_units=plain.marked_units,
        repeated=plain.repeated,
        language=plain.language,
        completed=plain.completed,
    )
