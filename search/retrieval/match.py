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

from search.retrieval.errors import InvalidQuery, shown
from search.retrieval.scripts import has_token, is_cjk, tokens_of

#: OR-ing 1,000 terms over 20,000 chunks takes 1.1 s, 20,000 terms 16.8 s.
MAX_TOKENS = 32
#: 26 one-letter prefixes OR-ed over 100,000 chunks take 5.9 s.
MIN_PREFIX_CHARS = 3
# Looking up the frequency of every word of a pasted book would itself take the time that the cap saves.
_MAX_LOOKED_UP = 512

_STRING = re.compile(r'"[^"]*"')
# A bareword is tried from its first character alone, in one go: from each of them, time would be quadratic.
_PREFIX = re.compile(r'(?:"([^"]*)"|(?<![^\s"()*+^:{},])([^\s"()*+^:{},]++))\s*\*')


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
    """Refuse a raw expression with a prefix query too short to be fast; CJK needs no length.

    Raises: InvalidQuery, naming the prefix.
    """
    for string, bareword in _PREFIX.findall(raw):
        tokens = tokens_of(string or bareword)
        if tokens and len(tokens[-1]) < MIN_PREFIX_CHARS and not is_cjk(tokens[-1]):
            raise InvalidQuery(
                f"The prefix {shown(tokens[-1] + '*')} is too short; give it {MIN_PREFIX_CHARS} characters."
            )


def compile_all(terms: Iterable[str]) -> str:
    """Give the expression that finds chunks with every term that has a token; '' when none has."""
    return " ".join(_quoted(terms))


def compile_any(terms: Iterable[str]) -> str:
    """Give the expression that finds chunks with any of the terms; '' when no term has a token."""
    return " OR ".join(_quoted(terms))


def in_columns(expression: str, columns: Sequence[str]) -> str:
    """Narrow a non-empty `expression` to some columns of the index, like `text` or `breadcrumb`."""
    return f"{{{' '.join(columns)}}} : ({expression})"


def _quoted(terms: Iterable[str]) -> list[str]:
    searchable = dict.fromkeys(term for term in terms if has_token(term))
    return ['"' + _printable(term).replace('"', '""') + '"' for term in searchable]


def cap_terms(
    terms: Sequence[str],
    document_frequency: Callable[[str], int],
    *,
    tokenize: Callable[[str], Sequence[str]] = tokens_of,
) -> tuple[str, ...]:
    """Keep at most 32 distinct tokens' worth of terms, the rarest, in their order; all of a short query.

    `document_frequency` is asked only when there are more, once a distinct term. Terms that occur nowhere
    count as the commonest: they can find nothing. A term of more than 32 tokens is taken apart into them.
    """
    units = _units(terms, tokenize)
    if len({token for tokens in units.values() for token in tokens}) <= MAX_TOKENS:
        return tuple(units)
    looked_up = list(units)[:_MAX_LOOKED_UP]
    frequency = {unit: document_frequency(unit) for unit in looked_up}
    rarest_first = sorted(looked_up, key=lambda unit: (frequency[unit] <= 0, frequency[unit]))
    kept = _within_limit(rarest_first, units)
    return tuple(unit for unit in looked_up if unit in kept)


def _units(terms: Sequence[str], tokenize: Callable[[str], Sequence[str]]) -> dict[str, frozenset[str]]:
    units: dict[str, frozenset[str]] = {}
    for term in terms:
        tokens = tokenize(term)
        if len(set(tokens)) > MAX_TOKENS:
            units |= {token: frozenset({token}) for token in tokens}
        elif tokens:
            units[term] = frozenset(tokens)
    return units


def _within_limit(rarest_first: Sequence[str], units: dict[str, frozenset[str]]) -> set[str]:
    kept: set[str] = set()
    searched: set[str] = set()
    for unit in rarest_first:
        if len(searched | units[unit]) <= MAX_TOKENS:
            kept.add(unit)
            searched |= units[unit]
    return kept
