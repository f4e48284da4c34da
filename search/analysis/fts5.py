"""FTS5 tokenizers for the analyses."""

from collections.abc import Callable, Iterable
from functools import partial

import apsw

from search.analysis.kinds import ANALYSES, Analysis, decode_phrase
from search.analysis.tokens import Token

_Tokens = Iterable[Token]


def register_tokenizer(connection: apsw.Connection) -> None:
    """Register the tokenizers on the connection; every connection to tables with them needs it."""
    for analysis in ANALYSES:
        connection.register_fts5_tokenizer(analysis.tokenizer, partial(_create_tokenizer, analysis))


def _create_tokenizer(
    analysis: Analysis, connection: apsw.Connection, arguments: list[str]
) -> Callable[[bytes, int, str | None], _Tokens]:
    return partial(_tokenize, analysis)


def _tokenize(analysis: Analysis, utf8: bytes, reason: int, locale: str | None) -> _Tokens:
    text = utf8.decode("utf-8", "replace")
    if not reason & apsw.FTS5_TOKENIZE_QUERY:
        return analysis.analyse(text)
    positions = decode_phrase(text) or analysis.query_terms(text)
    # Offsets have no meaning in a query, but FTS5 requires them.
    return [(0, 0, *alternatives) for alternatives in positions]
