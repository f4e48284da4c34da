"""Parsing of typed queries, and checks of raw ones.

A query is *plain* (the default): white-space runs, each quoted. It is *raw*, FTS5 syntax, only if the
whole trimmed query is wrapped in one pair of '…'. A quote inside closes the pair, so `'foo' bar` and `'foo'
OR 'bar'` are plain; inside an FTS5 string "…" it belongs to the string, so `'"don't" OR foo'` is raw.
Outside a string FTS5 has no such quote, so every valid FTS5 query can be written.
"""

import re
from dataclasses import dataclass

from search.retrieval.errors import InvalidQuery, preview
from search.retrieval.query.match_units import Analysis, MatchUnit, build_units
from search.retrieval.text.unicode_scripts import has_token, is_unspaced, words_of

#: Maximum number of words of a raw query, and of terms that snippets mark: FTS5 takes 1.1 s for an OR of
#: 1,000 terms over 20,000 chunks.
MAX_RAW_TOKENS = 32
#: FTS5 takes 53 s to parse an OR of 50,000 words and can't be interrupted meanwhile.
MAX_RAW_CHARS = 2_000
#: 26 one-letter prefixes OR-ed over 100,000 chunks take 5.9 s.
MIN_PREFIX_CHARS = 3
_MAX_PREFIX_CHARS = 64

# Without white space.
_UNPRINTABLE_IN_RUNS = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]+")

_OPERATORS = {"and", "or", "not", "near"}
_RAW_TERM = re.compile(r'"([^"]*)"|([^\s"()*+^:{},]++)(?!\s*:)')
_STRING = re.compile(r'"[^"]*"')
# A bareword is matched from its first character only and possessively; else the time would be quadratic.
_PREFIX = re.compile(r'(?:"([^"]*)"|(?<![^\s"()*+^:{},])([^\s"()*+^:{},]++))\s*\*')


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


def starred_word(term: str) -> str | None:
    """Return the beginning of words that a term of a plain query stands for, `hou` of `hou*`; else None."""
    word = term[:-1]
    is_word = term.endswith("*") and MIN_PREFIX_CHARS <= len(word) <= _MAX_PREFIX_CHARS and word.isalnum()
    return word if is_word and not is_unspaced(word[0]) else None


def raw_units(raw: str, analysis: Analysis) -> tuple[MatchUnit, ...]:
    """Return the units of the words and strings of a raw expression, whatever its operators mean."""
    terms = (string or word for string, word in _RAW_TERM.findall(raw))
    return build_units((each for each in terms if has_token(each) and not _is_operator(each)), analysis)


def _is_operator(word: str) -> bool:
    return word.isupper() and word.lower() in _OPERATORS
