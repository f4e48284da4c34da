"""Which tables are cut into parts by workspace, how large they are, and cutting them."""

import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import connection, connections
from psycopg import Connection, OperationalError, errors

from kebab.stack.servers.reachability import connect
from kebab.tenancy.owner_connection import NotTheOwner
from kebab.tenancy.partitions.conversion import Move, Progress, move_tables
from kebab.tenancy.partitions.layout import parts_of
from kebab.tenancy.roles import OWNER
from search.models import Change, Chunk, ChunkVector, Document

#: What grows with the corpus, what is referred to first. Rows of jobs stay in one table: were they locked as
#: well, nobody could hand in a document meanwhile, and no job could say that it waits.
TABLES: Final = tuple(model._meta.db_table for model in (Document, Chunk, ChunkVector, Change))
MOST_PARTS: Final = 256
# Columns that number themselves in partitioned tables.
_OLDEST_SERVER: Final = 170_000
# New tables are as large as the old ones, vector indexes included; the log of both, and what sorting takes.
_ROOM: Final = 2.2

_BYTES = """
SELECT coalesce(sum(pg_total_relation_size(relid)), 0)::bigint FROM (
    SELECT to_regclass(%s) AS relid UNION SELECT relid FROM pg_partition_tree(to_regclass(%s))
) tables
"""
_ROWS = """
SELECT coalesce(sum(greatest(reltuples, 0)), 0)::bigint FROM pg_class WHERE relkind = 'r' AND oid IN (
    SELECT to_regclass(%s) UNION SELECT relid FROM pg_partition_tree(to_regclass(%s))
)
"""


class CannotPartition(Exception):
    """The tables can't be cut here; the message says why and what helps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSize:
    """A table with all its parts."""

    table: str
    #: 0: it is whole.
    parts: int
    #: As PostgreSQL last counted them.
    rows: int
    #: With indexes.
    size_bytes: int

    def as_json(self) -> dict[str, Any]:
        """Give it as the verb prints it."""
        return asdict(self)


def table_sizes() -> list[TableSize]:
    """Return the tables as they are cut now."""
    with connection.cursor() as cursor:
        return [
            TableSize(
                table=table,
                parts=parts_of(cursor.connection, table),
                rows=_number(cursor, _ROWS, table),
                size_bytes=_number(cursor, _BYTES, table),
            )
            for table in TABLES
        ]


def room_needed(sizes: Sequence[TableSize]) -> int:
    """Return how many bytes cutting these takes on the database's disk until it is done."""
    return int(_ROOM * sum(each.size_bytes for each in sizes))


def cut_tables(parts: int, *, memory_bytes: int, progress: Progress) -> bool:
    """Cut the tables into so many parts, 0: make them whole; give whether they were anything else before.

    Searches go on, writers wait. Raises CannotPartition, TablesBusy, NotTheOwner.
    """
    sizes = table_sizes()
    if all(each.parts == parts for each in sizes):
        return False
    _check_room(room_needed(sizes))
    move = Move(tables=TABLES, parts=parts, memory_bytes=memory_bytes)
    with _owner() as owner, _owner() as reader:
        _check_server(owner)
        try:
            move_tables(owner, reader, move, progress)
        except errors.InsufficientPrivilege as error:
            raise NotTheOwner(str(error)) from error
    return True


def _owner() -> Connection:
    try:
        return connect(connections[OWNER].settings_dict, options="-c kebab.workspace_id=*")
    except OperationalError as error:
        raise NotTheOwner(str(error)) from error


def _check_server(owner: Connection) -> None:
    if owner.info.server_version < _OLDEST_SERVER:
        raise CannotPartition("Partitions need PostgreSQL 17 or later; upgrade the server first.")


def _check_room(needed: int) -> None:
    """Refuse where the embedded server's own disk is too full; of another server's nothing is known."""
    if not settings.KEBAB_EMBEDDED_POSTGRES:
        return
    folder = Path(settings.KEBAB_DATA_DIR)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise CannotPartition(
            f"It takes {needed / 1e9:.1f} GB on the disk of {folder} until it is done;"
            f" {free / 1e9:.1f} GB are free."
        )


def _number(cursor: Any, query: str, table: str) -> int:
    cursor.execute(query, [table, table])
    return int(cursor.fetchone()[0])
