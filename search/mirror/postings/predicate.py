"""Conditions on the chunks of a mirror, as masks over its rows. Values are bound; constants are formatted."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import apsw
import numpy as np

from search.mirror.postings.entries import ChunkTable
from search.retrieval.query.conditions import (
    BOUNDS,
    METADATA_PREFIX,
    TEXT_TESTS,
    AnyOf,
    Comparison,
    Condition,
    Not,
    fold_case,
)
from search.retrieval.query.glob import Glob
from search.retrieval.query.match_units import MatchUnit
from search.retrieval.query.metadata import FOLDED, NUMBERS
from search.retrieval.query.passage_words import is_written_in
from search.retrieval.query.titles import has_words, title_key

# Columns whose texts are compared as they are stored, and numbers.
_COLUMNS: Final = {
    "lang": "lang COLLATE NOCASE",
    "trust": "trust_level",
    "media": "media",
    "doc_id": "doc_id",
    "source": "source_key",
    "sources": "source_key",
    "version": "version_tag",
    "author": "author",
    "indexed_at": "indexed_at",
    "dated_at": "dated_at",
}
# One text is read four times as fast as a row for each document.
_ONE_OF = "SELECT group_concat(doc) FROM documents WHERE {column} IN (SELECT value FROM json_each(?))"
_BOUNDED = "SELECT group_concat(doc) FROM documents WHERE {column} {sign} ?"
_TAGGED = "SELECT group_concat(doc) FROM document_tags WHERE tag IN (SELECT value FROM json_each(?))"
_WITH_VALUE = "SELECT group_concat(doc) FROM document_values WHERE name {condition}"
_IN_LANGUAGES = (
    "SELECT group_concat(chunk) FROM chunks"
    " WHERE code_lang <> '' AND code_lang IN (SELECT value FROM json_each(?))"
)
_TEXTS_WITH_WORDS = "SELECT rowid, breadcrumb, text FROM chunks_fts WHERE chunks_fts MATCH ?"
_WITH_WORDS = "SELECT group_concat(rowid) FROM chunks_fts WHERE chunks_fts MATCH ?"
# Few of them are different.
_SPELLINGS: Final = {
    "tag": "SELECT DISTINCT tag FROM document_tags",
    "author": "SELECT DISTINCT author FROM documents WHERE author <> ''",
    "source": "SELECT DISTINCT source_key FROM documents",
}
_TEXTS: Final = {
    "path": "SELECT doc, path FROM documents",
    "title": "SELECT doc, title_key FROM documents",
    "doc_id": "SELECT doc, doc_id FROM documents",
    "date": "SELECT doc, strftime('%FT%T+00:00', CAST(dated_at AS INTEGER), 'unixepoch') FROM documents",
}
_TEXT_CONDITIONS: Final = {
    "starts": "substr(value, 1, length(?1)) = ?1",
    "ends": "substr(value, -length(?1)) = ?1",
    "contains": "instr(value, ?1)",
}


def chunks_meeting(connection: apsw.Connection, chunks: ChunkTable, condition: Condition) -> np.ndarray:
    """Return (n,) bool, whether the chunk at each row meets the condition."""
    if isinstance(condition, Not):
        return ~chunks_meeting(connection, chunks, condition.part)
    if not isinstance(condition, Comparison):
        join = np.logical_or if isinstance(condition, AnyOf) else np.logical_and
        found: np.ndarray = join.reduce(
            [chunks_meeting(connection, chunks, part) for part in condition.parts]
        )
        return found
    if condition.field == "kind":
        return chunks.are_of(condition.values)
    if condition.is_on_chunk:
        return _mask(_find_chunks(connection, condition), len(chunks.docs))
    documents = _mask(_find_documents(connection, condition), int(chunks.docs.max(initial=0)) + 1)
    of_documents: np.ndarray = documents[chunks.docs]
    return of_documents


def _mask(rows: np.ndarray, count: int) -> np.ndarray:
    """Return (count,) bool, true at `rows`."""
    mask = np.zeros(count, bool)
    mask[rows[rows < count]] = True
    return mask


def _find_chunks(connection: apsw.Connection, comparison: Comparison) -> np.ndarray:
    if comparison.field == "code_lang":
        return _rows(connection, _IN_LANGUAGES, json.dumps(comparison.values))
    return np.concatenate([_find_unit(connection, unit) for unit in comparison.values])


def _find_unit(connection: apsw.Connection, unit: MatchUnit) -> np.ndarray:
    if unit.written is None:
        return _rows(connection, _WITH_WORDS, unit.expression)
    having = connection.execute(_TEXTS_WITH_WORDS, (unit.expression,))
    written = partial(is_written_in, unit.written)
    return np.fromiter((row for row, *columns in having if any(map(written, columns))), np.int64)


def _find_documents(connection: apsw.Connection, comparison: Comparison) -> np.ndarray:
    field, values = comparison.field, comparison.values
    if field.startswith(METADATA_PREFIX):
        return _find_by_metadata(connection, comparison)
    is_by_key = field in ("source", "doc_id") and comparison.test == "one_of"
    if field in _TEXTS and not is_by_key:
        fits = _text_test(comparison)
        return np.fromiter((doc for doc, text in connection.execute(_TEXTS[field]) if fits(text)), np.int64)
    if field in _SPELLINGS and not is_by_key:
        fits = _text_test(comparison)
        values = tuple(text for (text,) in connection.execute(_SPELLINGS[field]) if fits(text))
    if field == "tag":
        return _rows(connection, _TAGGED, json.dumps(values))
    if comparison.test in BOUNDS:
        sql = _BOUNDED.format(column=_COLUMNS[field], sign=BOUNDS[comparison.test])
        return _rows(connection, sql, values[0].timestamp())
    keys = values[0].keys if field == "sources" else values
    return _rows(connection, _ONE_OF.format(column=_COLUMNS[field]), json.dumps(keys))


def _text_test(comparison: Comparison) -> Callable[[str], bool]:
    """Return the test of a text as it is stored; of a title by its key."""
    values: Sequence[Any] = comparison.values
    if comparison.test == "has_words":
        key_of = str if comparison.field == "title" else title_key
        return lambda text: any(has_words(key, key_of(text)) for key in values)
    if comparison.test == "fits":
        return lambda path: _fits_any(values, fold_case(path))
    if comparison.test == "one_of":
        return lambda text: fold_case(text) in values
    meets = TEXT_TESTS[comparison.test]
    return lambda text: any(meets(fold_case(text), value) for value in values)


def _fits_any(globs: Sequence[Glob], path: str) -> bool:
    return any(glob.matches(path) for glob in globs)


def _find_by_metadata(connection: apsw.Connection, comparison: Comparison) -> np.ndarray:
    name, values = comparison.field.removeprefix(METADATA_PREFIX), comparison.values
    if comparison.test == "one_of":
        wanted = _WITH_VALUE.format(condition=f"IN (?, ?) AND value IN ({', '.join('?' * len(values))})")
        return _rows(connection, wanted, name, name + FOLDED, *values)
    if comparison.test in _TEXT_CONDITIONS:
        fits = _TEXT_CONDITIONS[comparison.test]
        wanted = _WITH_VALUE.format(condition=f"IN (?2, ?3) AND typeof(value) = 'text' AND {fits}")
        return np.concatenate([_rows(connection, wanted, each, name, name + FOLDED) for each in values])
    # Texts are greater than any number.
    bounds = "".join(f" AND value < '' AND value {BOUNDS[key]} ?" for key, _ in values)
    wanted = _WITH_VALUE.format(condition=f"IN (?, ?){bounds}")
    return _rows(connection, wanted, name, name + NUMBERS, *(number for _, number in values))


def _rows(connection: apsw.Connection, sql: str, *values: Any) -> np.ndarray:
    """Return (n,) int64, the rows that a statement lists."""
    return np.fromstring(connection.execute(sql, values).get or "", np.int64, sep=",")
