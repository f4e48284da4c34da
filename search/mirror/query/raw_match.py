"""Raw queries in FTS5's own syntax: their matches in a mirror, with scores."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import apsw
import numpy as np

from search.mirror.postings import Collection
from search.mirror.query.bm25 import bm25_call, bm25_values
from search.mirror.query.filters import Clause
from search.retrieval.errors import InvalidQuery, preview

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

    def best(self, clause: Clause, limit: int) -> list[tuple[int, float]]:
        """Return (row, bm25) of the best `limit`, lower being better, then by chunk id."""
        return self._fetch_scores(_BEST.format(bm25=self._bm25, clause=clause.sql), *clause.values, limit)

    def count(self, clause: Clause) -> int:
        """Count the matches."""
        with self._translate_syntax_errors():
            counted = self.connection.execute(
                _COUNT.format(clause=clause.sql), (self.expression, *clause.values)
            )
            return int(counted.get)

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
            raise InvalidQuery(f"{preview(self.expression)} is not FTS5 syntax: {error}. Mend it.") from error
