"""Copying of rows into partitions, frozen: every snapshot sees them, also an older one.

Without that a search or a mirror whose snapshot is older than the conversion would find empty tables after it
(https://www.postgresql.org/docs/18/sql-copy.html, FREEZE). Frozen rows can be copied into a leaf, never into
a parent, so the source is read once for each partition, for the workspaces that belong there.
"""

import uuid
from collections.abc import Callable, Sequence

from psycopg import Connection, sql

#: Gets the number of bytes copied since the last call.
OnBytes = Callable[[int], None]

# PostgreSQL uses an index where few of many rows are selected.
_READ = "COPY (SELECT {columns} FROM public.{table} {condition}) TO STDOUT (FORMAT binary)"
_WRITE = "COPY {table} ({columns}) FROM STDIN (FORMAT binary, FREEZE)"
_OF_WORKSPACES = "WHERE workspace_id = ANY({ids}::uuid[])"


def copy_all(
    source: Connection, target: Connection, table: str, *, columns: Sequence[str], on_bytes: OnBytes
) -> None:
    """Copy all rows of a table into the whole table of the same name on the target's search path."""
    _copy(
        source,
        _read_statement(table, columns, sql.SQL("")),
        target,
        _write_statement(table, columns),
        on_bytes,
    )


def copy_part(
    source: Connection,
    target: Connection,
    table: str,
    *,
    columns: Sequence[str],
    leaf: str,
    workspaces: Sequence[uuid.UUID],
    on_bytes: OnBytes,
) -> None:
    """Copy the rows of some workspaces into a leaf that the target's current transaction has created."""
    condition = sql.SQL(_OF_WORKSPACES).format(ids=sql.Literal(list(workspaces)))
    _copy(
        source, _read_statement(table, columns, condition), target, _write_statement(leaf, columns), on_bytes
    )


def _read_statement(table: str, columns: Sequence[str], condition: sql.Composable) -> sql.Composed:
    return sql.SQL(_READ).format(
        columns=_column_list(columns), table=sql.Identifier(table), condition=condition
    )


def _write_statement(table: str, columns: Sequence[str]) -> sql.Composed:
    return sql.SQL(_WRITE).format(table=sql.Identifier(table), columns=_column_list(columns))


def _column_list(columns: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


def _copy(
    source: Connection, reading: sql.Composed, target: Connection, writing: sql.Composed, on_bytes: OnBytes
) -> None:
    with source.cursor().copy(reading) as rows, target.cursor().copy(writing) as copied:
        for data in rows:
            copied.write(data)
            on_bytes(len(data))
