"""Operations for migrations that run while the previous version is running (docs/decisions/0008)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import connections

_IS_INVALID = "SELECT NOT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"
_LEAVES = """
SELECT n.nspname, c.relname FROM pg_partition_tree(to_regclass(%s)) tree
JOIN pg_class c ON c.oid = tree.relid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE tree.isleaf AND tree.level > 0 ORDER BY c.relname
"""


class AddIndexBeside(AddIndexConcurrently):
    """Builds an index concurrently, however long that takes, and again if one was left half built.

    Its migration needs `atomic = False`. It blocks nobody while it waits, so it has no lock timeout. On a
    partitioned table it builds the index of each partition, then attaches them to the table's.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Build the index, unless a valid one exists."""
        with _no_lock_timeout(schema_editor) as cursor:
            model = to_state.apps.get_model(app_label, self.model_name)
            cursor.execute(_LEAVES, [model._meta.db_table])
            leaves = cursor.fetchall()
            if leaves:
                self._build_partitioned(cursor, schema_editor, model, leaves)
            elif _drop_invalid_index(cursor, schema_editor, self.index.name):
                super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Drop the index; on a partitioned table not concurrently, which PostgreSQL doesn't support."""
        with _no_lock_timeout(schema_editor) as cursor:
            name = schema_editor.quote_name(self.index.name)
            cursor.execute("SELECT relkind FROM pg_class WHERE oid = to_regclass(%s)", [self.index.name])
            is_of_parts = cursor.fetchone() == ("I",)
            cursor.execute(f"DROP INDEX {'' if is_of_parts else 'CONCURRENTLY '}IF EXISTS {name}")

    def _build_partitioned(self, cursor: Any, editor: Any, model: Any, leaves: list[tuple[str, str]]) -> None:
        quote, name = editor.quote_name, self.index.name
        statement = str(self.index.create_sql(model, editor))
        head, tail = statement.split(" ON ", 1)
        rest = tail.removeprefix(quote(model._meta.db_table))
        kind = head.removesuffix(quote(name)).strip()
        cursor.execute(f"{kind} IF NOT EXISTS {quote(name)} ON ONLY {tail}")
        for schema, leaf in leaves:
            of_leaf = f"{name}_{leaf.rpartition('_')[2]}"
            if _drop_invalid_index(cursor, editor, f"{schema}.{of_leaf}"):
                on = f"{quote(schema)}.{quote(leaf)}"
                cursor.execute(f"{kind} CONCURRENTLY {quote(of_leaf)} ON {on}{rest}")
            cursor.execute(f"ALTER INDEX {quote(name)} ATTACH PARTITION {quote(schema)}.{quote(of_leaf)}")


@contextmanager
def _no_lock_timeout(schema_editor: Any) -> Iterator[Any]:
    """Yield a cursor whose statements wait for locks without a limit."""
    with connections[schema_editor.connection.alias].cursor() as cursor:
        cursor.execute("SELECT current_setting('lock_timeout')")
        (limit,) = cursor.fetchone()
        cursor.execute("SET lock_timeout = 0")
        try:
            yield cursor
        finally:
            cursor.execute("SELECT set_config('lock_timeout', %s, false)", [limit])


def _drop_invalid_index(cursor: Any, editor: Any, name: str) -> bool:
    """Drop the index if it is invalid; return whether it has to be built."""
    cursor.execute(_IS_INVALID, [name])
    row = cursor.fetchone()
    if row is not None and row[0]:
        quoted = ".".join(map(editor.quote_name, name.split(".")))
        cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {quoted}")
    return row is None or bool(row[0])
