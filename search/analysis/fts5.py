"""The analysis as a tokenizer of FTS5."""

from collections.abc import Callable, Iterable, Sequence

import apsw

from search.analysis.tokens import Token, analyse, query_terms

#: As an FTS5 table names it.
TOKENIZER = "kebab"

# What a query analysed before is marked with; control characters don't come from people.
_ANALYSED, _NEXT_POSITION, _ALTERNATIVE = "\x1d", "\x1e", "\x1f"

_Tokens = Iterable[Token]


def register_tokenizer(connection: apsw.Connection) -> None:
    """Let the connection read and write tables with this tokenizer; each connection has to."""
    connection.register_fts5_tokenizer(TOKENIZER, _make)


def analysed_phrase(positions: Sequence[Sequence[str]]) -> str:
    """Give FTS5's string for a phrase of index terms, any of the alternatives at each position."""
    terms = _NEXT_POSITION.join(_ALTERNATIVE.join(alternatives) for alternatives in positions)
    return f'"{_ANALYSED}{terms}"'


def _make(connection: apsw.Connection, arguments: list[str]) -> Callable[[bytes, int, str | None], _Tokens]:
    return _tokenize


def _tokenize(utf8: bytes, reason: int, locale: str | None) -> _Tokens:
    text = utf8.decode("utf-8", "replace")
    if not reason & apsw.FTS5_TOKENIZE_QUERY:
        return analyse(text)
    if text.startswith(_ANALYSED):
        positions = [tuple(position.split(_ALTERNATIVE)) for position in text[1:].split(_NEXT_POSITION)]
    else:
        positions = list(query_terms(text))
    # In a query offsets have no meaning, yet FTS5 is given some.
    return [(0, 0, *alternatives) for alternatives in positions]
