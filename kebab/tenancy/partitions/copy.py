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


def copy_rows(
    source: Connection,
    target: Connection,
    table: str,
    *,
    columns: Sequence[str],
    into: str,
    workspaces: Sequence[uuid.UUID] | None,
    on_bytes: OnBytes,
) -> None:
    """Copy the rows of some workspaces, or all, into the table `into` on the target's search path.

    A leaf must have been created by the target's current transaction.
    """
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    condition = (
        sql.SQL("")
        if workspaces is None
        else sql.SQL(_OF_WORKSPACES).format(ids=sql.Literal(list(workspaces)))
    )
    reading = sql.SQL(_READ).format(columns=names, table=sql.Identifier(table), condition=condition)
    writing = sql.SQL(_WRITE).format(table=sql.Identifier(into), columns=names)
    with source.cursor().copy(reading) as rows, target.cursor().copy(writing) as copied:
        for data in rows:
            copied.write(data)
            on_bytes(len(data))
