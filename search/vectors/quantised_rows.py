"""Reads of a space's vectors from PostgreSQL for their codes: all, or those written since a position.

A row has the id of the transaction that wrote it, so that rows invisible to one snapshot are found in the
next by an index, whatever the order of commits.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection

from search.retrieval.fusion.legs import ID, unpack_ids
from search.vectors.spaces import LiveSpace

# Rows per statement: 13 MB, as bytes are transferred as text.
_BATCH = 8_192
# Header of `halfvec_send` before the components.
_HEAD_BYTES = 4
_SENT = np.dtype(">f2")

# A restored database counts its transactions from an earlier number; its server has been restarted, or its
# table is another.
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
_SOME = """
SELECT string_agg(uuid_send(chunk_id) || halfvec_send(embedding), ''::bytea) FROM search_chunkvector
WHERE workspace_id = %(workspace)s AND space_id = %(space)s AND chunk_id = ANY(%(ids)s::uuid[])
"""
# One statement for position and rows, in one snapshot. Rows of a dump have transaction ids of another
# database, which may be in the future of this one.
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
class SnapshotPosition:
    """The position up to which a database was read: server start, table and snapshot."""

    started: str
    table: str
    snapshot: str

    def is_before(self, later: "SnapshotPosition") -> bool:
        """Return whether the rows written between the two positions can be determined."""
        return (self.started, self.table) == (later.started, later.table)


@dataclass(frozen=True, slots=True)
class VectorRows:
    """Vectors with the ids of their chunks: ids (n,) ID, vectors (n, dim) float16."""

    ids: np.ndarray
    vectors: np.ndarray


def current_position() -> SnapshotPosition:
    """Return the current position of the database."""
    return _position(*_fetch(_PLACE, {})[0])


def _position(started: str, table: str, snapshot: str) -> SnapshotPosition:
    return SnapshotPosition(started=started, table=table, snapshot=snapshot)


def has_at_least(workspace_id: uuid.UUID, space: LiveSpace, count: int) -> bool:
    """Return whether a space has at least `count` vectors."""
    values = {"workspace": workspace_id, "space": space.space_id, "limit": count}
    return bool(_fetch(_COUNT, values)[0][0] >= count)


def read_all_rows(workspace_id: uuid.UUID, space: LiveSpace) -> Iterator[VectorRows]:
    """Yield all vectors of a space in the order of their ids, some at a time."""
    after, is_more = uuid.UUID(int=0), True
    while is_more:
        values = {"workspace": workspace_id, "space": space.space_id, "after": after, "limit": _BATCH}
        rows = _decode_rows(_fetch(_ALL, values)[0][0], space.dim)
        is_more = len(rows.ids) == _BATCH
        if len(rows.ids):
            yield rows
            after = uuid.UUID(bytes=rows.ids[-1:].tobytes())


def read_rows_since(
    workspace_id: uuid.UUID, space: LiveSpace, place: SnapshotPosition, *, limit: int
) -> tuple[VectorRows, SnapshotPosition]:
    """Return up to `limit` vectors written since `place`, and the current position.

    They are meaningless unless `place.is_before` the current position.
    """
    values = {"workspace": workspace_id, "space": space.space_id, "snapshot": place.snapshot, "limit": limit}
    *now, encoded = _fetch(_SINCE, values)[0]
    return _decode_rows(encoded, space.dim), _position(*now)


def read_some_rows(workspace_id: uuid.UUID, space: LiveSpace, ids: np.ndarray) -> VectorRows:
    """Return the vectors of chunks, (m,) ID, in any order, without those that have none."""
    values = {"workspace": workspace_id, "space": space.space_id, "ids": f"{{{','.join(unpack_ids(ids))}}}"}
    return _decode_rows(_fetch(_SOME, values)[0][0], space.dim)


def _fetch(query: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return list(cursor.fetchall())


def _decode_rows(encoded: bytes | None, dim: int) -> VectorRows:
    row_bytes = ID.itemsize + _HEAD_BYTES + dim * _SENT.itemsize
    table = np.frombuffer(encoded or b"", np.uint8).reshape(-1, row_bytes)
    numbers = np.ascontiguousarray(table[:, ID.itemsize + _HEAD_BYTES :]).view(_SENT)
    ids = np.ascontiguousarray(table[:, : ID.itemsize]).view(ID).ravel()
    return VectorRows(ids, numbers.astype(np.float16))
