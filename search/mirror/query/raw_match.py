"""Raw queries in FTS5's own syntax: their matches in a mirror, with scores.

FTS5's `bm25()` counts every chunk. `bm25_within()` is the same formula over a part of them, in Python, for
readers with access to that part only: on 50,000 chunks an expression with 11,000 matches takes 13 ms instead
of 5.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import apsw
import numpy as np

from search.mirror.postings import Collection
from search.mirror.postings.entries import K1, idf
from search.retrieval.errors import InvalidQuery, preview

# The columns of chunks_fts that are indexed: breadcrumb, text.
_COLUMNS = (2, 3)

_ALL = "bm25(chunks_fts, 0.0, 0.0, ?, ?)"
_WITHIN = "bm25_within(chunks_fts, ?, ?, ?)"


def bm25_call(narrowed: Collection | None) -> str:
    """Return the SQL that scores a match, lower being better, among all chunks or those of a collection."""
    return _ALL if narrowed is None else _WITHIN


def bm25_values(narrowed: Collection | None, weights: tuple[float, float]) -> tuple[object, ...]:
    """Return the values to bind to `bm25_call`'s SQL; `weights` are those of breadcrumb and text."""
    return weights if narrowed is None else (*weights, apsw.pyobject(narrowed))


def register_bm25(connection: apsw.Connection) -> None:
    """Register `bm25_within` on a connection; every reader needs it."""
    connection.register_fts5_function("bm25_within", _bm25_within)  # type: ignore[arg-type]  # the SQL passes these values


def _bm25_within(
    match: apsw.FTS5ExtensionApi, in_breadcrumb: float, in_text: float, collection: Collection
) -> float:
    if match.aux_data is None:  # once per statement
        match.aux_data = [_idf(match, phrase, collection) for phrase in range(match.phrase_count)]
    damping = float(collection.chunks.damping[match.rowid])
    score = 0.0
    for phrase, worth in enumerate(match.aux_data):
        places = match.phrase_locations(phrase)
        frequency = sum(
            weight * len(places[column])
            for column, weight in zip(_COLUMNS, (in_breadcrumb, in_text), strict=True)
        )
        score += worth * (frequency * (K1 + 1.0) / (frequency + damping))
    return -score


def _idf(match: apsw.FTS5ExtensionApi, phrase: int, collection: Collection) -> float:
    belonging = [0]
    if (members := collection.members) is None:
        raise ValueError("The collection is all of the mirror; use bm25().")

    def count(found: apsw.FTS5ExtensionApi, _: object) -> None:
        belonging[0] += bool(members[found.rowid])

    match.query_phrase(phrase, count, None)
    return idf(collection.chunks.chunk_count, belonging[0])


_BEST = (
    "SELECT f.rowid, f.score FROM (SELECT rowid, {bm25} AS score FROM chunks_fts"
    " WHERE chunks_fts MATCH ? {clause}) f JOIN chunks c ON c.chunk = f.rowid"
    " ORDER BY f.score, c.chunk_id LIMIT ?"
)
_ROWS = "SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?"
_COUNT = "SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH ? {clause}"
# The + prevents SQLite from running the MATCH once per row, which would count a term's chunks each time.
_SCORED = (
    "SELECT rowid, {bm25} FROM chunks_fts"
    " WHERE chunks_fts MATCH ? AND +rowid IN (SELECT value FROM json_each(?))"
)


@dataclass(frozen=True, slots=True)
class RawQuery:
    """A raw expression on one mirror.

    All methods raise InvalidQuery for syntax that FTS5 refuses, apsw.InterruptError when the time is up.
    """

    connection: apsw.Connection
    expression: str
    #: The collection that scores are computed in; None for the whole mirror.
    narrowed: Collection | None
    #: Weights of breadcrumb and text.
    weights: tuple[float, float]

    def best(self, clause: str, limit: int) -> list[tuple[int, float]]:
        """Return (row, bm25) of the best `limit`, lower being better, then by chunk id."""
        return self._fetch_scores(_BEST.format(bm25=self._bm25, clause=clause), limit)

    def count(self, clause: str) -> int:
        """Count the matches."""
        with self._translate_syntax_errors():
            return int(self.connection.execute(_COUNT.format(clause=clause), (self.expression,)).get)

    def rows(self) -> Iterator[int]:
        """Return the rows that match, in any order."""
        with self._translate_syntax_errors():
            yield from (row for (row,) in self.connection.execute(_ROWS, (self.expression,)))

    def sums(self, rows: np.ndarray) -> np.ndarray:
        """Return (n,) float64, the scores of `rows`, higher being better; 0.0 where one doesn't match."""
        chosen = rows.tolist()
        scores = dict(self._fetch_scores(_SCORED.format(bm25=self._bm25), json.dumps(chosen)))
        return np.array([-scores.get(row, 0.0) for row in chosen])

    @property
    def _bm25(self) -> str:
        return bm25_call(self.narrowed)

    def _fetch_scores(self, sql: str, *values: object) -> list[tuple[int, float]]:
        weights = bm25_values(self.narrowed, self.weights)
        with self._translate_syntax_errors():
            rows: list[Any] = self.connection.execute(sql, (*weights, self.expression, *values)).fetchall()
            return rows

    @contextmanager
    def _translate_syntax_errors(self) -> Iterator[None]:
        try:
            yield
        except apsw.SQLError as error:
            raise InvalidQuery(_explain(self.expression, str(error))) from error


def _explain(expression: str, error: str) -> str:
    """Return what is wrong with an expression, and the remedy, from SQLite's message."""
    query = f"The advanced query {preview(expression)}"
    if error == "unterminated string":
        return f"{query} has an opening quotation mark without a closing one; add one."
    if column := re.fullmatch(r"no such column: (.*)", error, re.DOTALL):
        return f"{query} names the column {preview(column[1])}; use breadcrumb or text, or quote the words."
    if near := re.fullmatch(r'fts5: syntax error near "(.*)"', error, re.DOTALL):
        if near[1]:
            return f"{query} can't be read at {preview(near[1])}; correct it, or quote the words."
        if words := expression.split():
            return f"{query} is incomplete: something is missing after {preview(words[-1])}."
    return f"{query} can't be read: {error}."
