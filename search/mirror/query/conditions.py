"""Conditions of typed operators on the chunks of a mirror, as a mask over its rows."""

from collections.abc import Iterable
from typing import Any, Final

import apsw
import numpy as np

from search.mirror.postings import ChunkTable
from search.retrieval.query.operator_values import Column
from search.retrieval.query.operators import Condition

_DOCUMENTS_WITH: Final[dict[Column, str]] = {
    "source": "SELECT doc FROM documents WHERE source_key = ? COLLATE NOCASE",
    "media": "SELECT doc FROM documents WHERE media = ? COLLATE NOCASE",
    "lang": "SELECT doc FROM documents WHERE lang = ? COLLATE NOCASE",
    "tag": "SELECT doc FROM document_tags WHERE tag = ? COLLATE NOCASE",
    "after": "SELECT doc FROM documents WHERE dated_at >= ?",
    "before": "SELECT doc FROM documents WHERE dated_at < ?",
}
# With the text that a predicate is about.
_DOCUMENTS: Final[dict[Column, str]] = {
    "path": "SELECT doc, path FROM documents",
    "title": "SELECT doc, title_key FROM documents",
    "author": "SELECT doc, author FROM documents WHERE author <> ''",
}
_CHUNKS_WITH: Final[dict[Column, str]] = {
    "words": "SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?",
    "code_lang": "SELECT chunk FROM chunks WHERE code_lang <> '' AND code_lang = ? COLLATE NOCASE",
}


def meet_conditions(
    connection: apsw.Connection, chunks: ChunkTable, conditions: Iterable[Condition]
) -> np.ndarray:
    """Return (n,) bool, whether the chunk at each row meets all conditions."""
    meets = np.ones(len(chunks.docs), bool)
    for condition in conditions:
        holds = np.zeros(len(meets), bool)
        for column, value in condition.alternatives:
            holds |= _have(connection, chunks, column, value)
        meets &= holds != condition.is_exclusion
    return meets


def _have(connection: apsw.Connection, chunks: ChunkTable, column: Column, value: Any) -> np.ndarray:
    if column in _CHUNKS_WITH:
        wanted = value.expression if column == "words" else value
        return _mask(connection.execute(_CHUNKS_WITH[column], (wanted,)), len(chunks.docs))
    rows: Iterable[tuple[Any, ...]]
    if column in _DOCUMENTS:
        rows = ((doc,) for doc, text in connection.execute(_DOCUMENTS[column]) if value(text))
    else:
        rows = connection.execute(_DOCUMENTS_WITH[column], (value,))
    found: np.ndarray = _mask(rows, int(chunks.docs.max(initial=0)) + 1)[chunks.docs]
    return found


def _mask(rows: Iterable[tuple[Any, ...]], count: int) -> np.ndarray:
    """Return (count,) bool, true at `rows`."""
    found = np.fromiter((row for (row,) in rows), np.int64)
    mask = np.zeros(count, bool)
    mask[found[found < count]] = True
    return mask
