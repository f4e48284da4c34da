"""The layout of partitioned tables: the parent in `public`, its leaves in a schema of their own.

The application's role has no rights in that schema, so that it reaches rows only through the parent, whose
policies apply, and never through a leaf.
"""

import uuid
from typing import Any, Final, Protocol

#: The schema of the leaves.
LEAVES: Final = "kebab_parts"

_PARTS = """
SELECT count(*) FROM pg_inherits i JOIN pg_partitioned_table p ON p.partrelid = i.inhparent
WHERE i.inhparent = to_regclass(%s)
"""
_LEAF = """
SELECT n.nspname || '.' || c.relname
FROM generate_series(0, %(parts)s - 1) number, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = %(table)s || '_' || number AND n.nspname = %(leaves)s
AND satisfies_hash_partition(%(table)s::regclass, %(parts)s, number, %(workspace)s::uuid)
"""


class SqlExecutor(Protocol):
    """The part of a psycopg connection that is needed here."""

    def execute(self, query: Any, params: Any = None) -> Any:
        """Run a statement."""
        ...


def partition_count(connection: SqlExecutor, table: str) -> int:
    """Return the number of partitions of a table; 0 if it isn't partitioned."""
    return int(connection.execute(_PARTS, [table]).fetchone()[0])


def leaf_name(table: str, number: int) -> str:
    """Return the name of partition `number`, from 0, of a table, without its schema."""
    return f"{table}_{number}"


def table_of(connection: SqlExecutor, table: str, workspace_id: uuid.UUID) -> str:
    """Return the table that holds a workspace's rows: a leaf with its schema, or the whole table."""
    parts = partition_count(connection, table)
    if not parts:
        return table
    values = {"table": table, "parts": parts, "leaves": LEAVES, "workspace": workspace_id}
    return str(connection.execute(_LEAF, values).fetchone()[0])
