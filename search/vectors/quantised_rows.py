"""Reading the vectors of a space from PostgreSQL for their codes: all, or those written since.

A row says in which transaction it was written, so that what one snapshot didn't see is found in the next by
an index, whatever the order of commits.
"""

import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from django.db import connection

from search.vectors.quantised import BLOCK, ID_BYTES
from search.vectors.spaces import LiveSpace

# Rows a statement: 13 MB as text, the way bytes come.
_BATCH = 2 * BLOCK
# What `halfvec_send` writes before the numbers.
_HEAD_BYTES = 4
_SENT = np.dtype(">f2")

# A database that was brought back to an earlier time counts its transactions from there: by then its server
# has started anew, or its table is another.
_PLACE = """
SELECT pg_postmaster_start_time()::text, 'search_chunkvector'::regclass::oid::text,
    pg_current_snapshot()::text
"""
_COUNT = """
SELECT count(*) FROM (
    SELECT FROM search_chunkvector WHERE workspace_id = %(workspace)s AND space_id = %(space)s LIMIT %(limit)s
) rows
"""
_ALL = """
SELECT string_agg(uuid_send(chunk_id) || halfvec_send(embedding), ''::bytea ORDER BY chunk_id) FROM (
    SELECT chunk_id, embedding FROM search_chunkvector
    WHERE workspace_id = %(workspace)s AND space_id = %(space)s AND chunk_id > %(after)s
    ORDER BY chunk_id LIMIT %(limit)s
) rows
"""
# Both in one statement, which has one snapshot. Rows of a dump say when they were written in another
# database, which may be of what has yet to come in this one.
_SINCE = """
SELECT pg_postmaster_start_time()::text, 'search_chunkvector'::regclass::oid::text,
    pg_current_snapshot()::text, (
    SELECT string_agg(uuid_send(chunk_id) || halfvec_send(embedding), ''::bytea) FROM (
        SELECT chunk_id, embedding FROM search_chunkvector
        WHERE workspace_id = %(workspace)s AND space_id = %(space)s
        AND written >= pg_snapshot_xmin(%(snapshot)s::pg_snapshot)
        AND written < pg_snapshot_xmax(pg_current_snapshot())
        AND NOT pg_visible_in_snapshot(written, %(snapshot)s::pg_snapshot) LIMIT %(limit)s
    ) rows
)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Up to where a database was read."""

    started: str
    table: str
    snapshot: str

    def as_json(self) -> dict[str, Any]:
        """Give it as `Place(**…)` takes it."""
        return asdict(self)

    def is_before(self, later: "Place") -> bool:
        """Return whether what was written between the two can be told."""
        return (self.started, self.table) == (later.started, later.table)


@dataclass(frozen=True, slots=True)
class Rows:
    """Vectors and whose they are: ids (n, 16) uint8, and (n, dim) float16."""

    ids: np.ndarray
    vectors: np.ndarray


def present_place() -> Place:
    """Return where the database is now."""
    return _place(*_asked(_PLACE, {})[0])


def _place(started: str, table: str, snapshot: str) -> Place:
    return Place(started=started, table=table, snapshot=snapshot)


def has_at_least(workspace_id: uuid.UUID, space: LiveSpace, count: int) -> bool:
    """Return whether a space has so many vectors."""
    values = {"workspace": workspace_id, "space": space.space_id, "limit": count}
    return bool(_asked(_COUNT, values)[0][0] >= count)


def all_rows(workspace_id: uuid.UUID, space: LiveSpace) -> Iterator[Rows]:
    """Return all vectors of a space in the order of their ids, two whole blocks at a time."""
    after, is_more = uuid.UUID(int=0), True
    while is_more:
        values = {"workspace": workspace_id, "space": space.space_id, "after": after, "limit": _BATCH}
        rows = _rows(_asked(_ALL, values)[0][0], space.dim)
        is_more = len(rows.ids) == _BATCH
        if len(rows.ids):
            yield rows
            after = uuid.UUID(bytes=rows.ids[-1].tobytes())


def rows_since(workspace_id: uuid.UUID, space: LiveSpace, place: Place, *, limit: int) -> tuple[Rows, Place]:
    """Give up to `limit` vectors that were not there when `place` was, and where the database is now.

    They say nothing unless `place` is before that.
    """
    values = {"workspace": workspace_id, "space": space.space_id, "snapshot": place.snapshot, "limit": limit}
    *now, sent = _asked(_SINCE, values)[0]
    return _rows(sent, space.dim), _place(*now)


def _asked(query: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return list(cursor.fetchall())


def _rows(sent: bytes | None, dim: int) -> Rows:
    row_bytes = ID_BYTES + _HEAD_BYTES + dim * _SENT.itemsize
    table = np.frombuffer(sent or b"", np.uint8).reshape(-1, row_bytes)
    numbers = np.ascontiguousarray(table[:, ID_BYTES + _HEAD_BYTES :]).view(_SENT)
    return Rows(np.ascontiguousarray(table[:, :ID_BYTES]), numbers.astype(np.float16))
