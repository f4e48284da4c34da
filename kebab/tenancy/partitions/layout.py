"""How a table is cut into parts: the parent in `public`, its leaves in a schema of their own.

The application's role has no rights in that schema, so that rows are reached through the parent, whose
policies hold, and never through a leaf.
"""

import uuid
from typing import Any, Final, Protocol

#: Where leaves lie.
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


class Executes(Protocol):
    """A connection of psycopg, as far as it is needed here."""

    def execute(self, query: Any, params: Any = None) -> Any:
        """Run a statement."""
        ...


def parts_of(connection: Executes, table: str) -> int:
    """Return into how many parts a table is cut; 0: it is whole."""
    return int(connection.execute(_PARTS, [table]).fetchone()[0])


def leaf_name(table: str, number: int) -> str:
    """Return what part `number`, from 0, of a table is called, without its schema."""
    return f"{table}_{number}"


def table_of(connection: Executes, table: str, workspace_id: uuid.UUID) -> str:
    """Return the table in which a workspace's rows lie: a leaf with its schema, or the whole table."""
    parts = parts_of(connection, table)
    if not parts:
        return table
    values = {"table": table, "parts": parts, "leaves": LEAVES, "workspace": workspace_id}
    return str(connection.execute(_LEAF, values).fetchone()[0])
