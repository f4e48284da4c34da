"""The analyses as tokenizers of FTS5."""

from collections.abc import Callable, Iterable
from functools import partial

import apsw

from search.analysis.kinds import ANALYSES, Analysis
from search.analysis.phrases import positions_in
from search.analysis.tokens import Token

_Tokens = Iterable[Token]


def register_tokenizer(connection: apsw.Connection) -> None:
    """Let the connection read and write tables with these tokenizers; each connection has to."""
    for analysis in ANALYSES:
        connection.register_fts5_tokenizer(analysis.tokenizer, partial(_make, analysis))


def _make(
    analysis: Analysis, connection: apsw.Connection, arguments: list[str]
) -> Callable[[bytes, int, str | None], _Tokens]:
    return partial(_tokenize, analysis)


def _tokenize(analysis: Analysis, utf8: bytes, reason: int, locale: str | None) -> _Tokens:
    text = utf8.decode("utf-8", "replace")
    if not reason & apsw.FTS5_TOKENIZE_QUERY:
        return analysis.analyse(text)
    positions = positions_in(text) or analysis.query_terms(text)
    # In a query offsets have no meaning, yet FTS5 is given some.
    return [(0, 0, *alternatives) for alternatives in positions]
