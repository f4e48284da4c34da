"""Partitioning of the large tables by workspace: their sizes, and the conversion."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import connection, connections
from psycopg import Connection, OperationalError, errors

from kebab.tenancy.partitions.conversion import Progress, RepartitionPlan, repartition_tables
from kebab.tenancy.partitions.layout import partition_count
from kebab.tenancy.postgres.pool import connect
from kebab.tenancy.roles import OWNER, NotTheOwner
from search.models import Change, Chunk, ChunkVector, Document

#: Tables that grow with the corpus, referenced ones first. Jobs stay unpartitioned: if the conversion locked
#: them too, nobody could upload a document meanwhile, and waiting jobs couldn't report their state.
TABLES: Final = tuple(model._meta.db_table for model in (Document, Chunk, ChunkVector, Change))
MOST_PARTS: Final = 256
# PostgreSQL 17 has identity columns in partitioned tables.
_OLDEST_SERVER: Final = 170_000
# Factor on the tables' size for new tables with indexes, write-ahead log and sorting.
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
    """The tables can't be partitioned here; the message names the reason and the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSize:
    """The size of a table with all its partitions."""

    table: str
    #: Number of partitions; 0 if unpartitioned.
    parts: int
    #: PostgreSQL's last estimate.
    rows: int
    #: Includes indexes.
    size_bytes: int


def table_sizes() -> list[TableSize]:
    """Return the current sizes and partition counts of the tables."""
    with connection.cursor() as cursor:
        return [
            TableSize(
                table=table,
                parts=partition_count(cursor.connection, table),
                rows=_fetch_number(cursor, _ROWS, table),
                size_bytes=_fetch_number(cursor, _BYTES, table),
            )
            for table in TABLES
        ]


def required_disk_bytes(sizes: Sequence[TableSize]) -> int:
    """Return the bytes on the database's disk that partitioning these tables takes until it is done."""
    return int(_ROOM * sum(each.size_bytes for each in sizes))


def partition_tables(parts: int, *, memory_bytes: int, progress: Progress) -> bool:
    """Partition the tables into `parts`, or unpartition them for 0; return whether anything changed.

    Searches go on, writers wait. Raises CannotPartition, TablesBusy, NotTheOwner.
    """
    sizes = table_sizes()
    if all(each.parts == parts for each in sizes):
        return False
    _check_room(required_disk_bytes(sizes))
    plan = RepartitionPlan(tables=TABLES, parts=parts, memory_bytes=memory_bytes)
    with _connect_owner() as owner, _connect_owner() as reader:
        _check_server(owner)
        try:
            repartition_tables(owner, reader, plan, progress)
        except errors.InsufficientPrivilege as error:
            raise NotTheOwner(str(error)) from error
    return True


def _connect_owner() -> Connection:
    try:
        return connect(connections[OWNER].settings_dict, options="-c kebab.workspace_id=*")
    except OperationalError as error:
        raise NotTheOwner(str(error)) from error


def _check_server(owner: Connection) -> None:
    if owner.info.server_version < _OLDEST_SERVER:
        raise CannotPartition("Partitions need PostgreSQL 17 or later; upgrade the server first.")


def _check_room(needed: int) -> None:
    """Raise CannotPartition if the embedded server's disk is too full; external servers aren't checked."""
    if not settings.KEBAB_EMBEDDED_POSTGRES:
        return
    folder = Path(settings.KEBAB_DATA_DIR)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise CannotPartition(
            f"It takes {needed / 1e9:.1f} GB on the disk of {folder} until it is done;"
            f" {free / 1e9:.1f} GB are free."
        )


def _fetch_number(cursor: Any, query: str, table: str) -> int:
    cursor.execute(query, [table, table])
    return int(cursor.fetchone()[0])
