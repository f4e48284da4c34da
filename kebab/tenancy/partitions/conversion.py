"""Conversion of tables to partitioned ones and back, on a filled database.

It is one transaction: new tables are created next to the old ones in a schema of their own, filled, indexed
and analyzed while writers wait and readers go on; then they are swapped. If it ends before the commit, the
old tables stay as they are, and nothing else is left.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from psycopg import Connection, sql

from kebab.tenancy.partitions.copy import copy_rows
from kebab.tenancy.partitions.definition import (
    Definition,
    definition_of,
    incoming_references,
    lock_tables,
    referenced_tables,
    retry_with_locks,
)
from kebab.tenancy.partitions.layout import LEAVES, leaf_name

#: The schema of the new tables.
_NEW: Final = "kebab_new"
# Blocked writers wait five seconds before they answer `busy`, so waiting for this lock may take two of them.
# Longer than a second, after which autovacuum yields.
_WRITERS_WAIT_MS = 2_000
# Blocks everybody, at the end.
_READERS_WAIT_MS = 250
_LOCK_LIMIT_S = 300.0

_OF_PARTS = """
SELECT number, array_agg(id) FROM generate_series(0, %s - 1) number JOIN people_workspace
ON satisfies_hash_partition(%s::regclass, %s, number, id) GROUP BY number
"""

_INDEXES_OF_LEAF = """
SELECT child.relname, parent.relname FROM pg_index JOIN pg_inherits ON inhrelid = indexrelid
JOIN pg_class child ON child.oid = inhrelid JOIN pg_class parent ON parent.oid = inhparent
WHERE indrelid = %s::regclass
"""

#: Gets the current step, and the bytes copied since the last call: (words, bytes).
Progress = Callable[[str, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepartitionPlan:
    """The tables to convert, and their new number of partitions; 0 for none."""

    tables: tuple[str, ...]
    parts: int
    #: Memory for building indexes, in bytes.
    memory_bytes: int


def repartition_tables(
    owner: Connection, reader: Connection, plan: RepartitionPlan, progress: Progress
) -> None:
    """Carry out `plan` over two connections of the tables' owner, in all workspaces. Raises TablesBusy."""
    with owner.transaction():
        _prepare(owner, plan)
        progress("Waiting for those who write ...", 0)
        lock_tables(owner, plan.tables, "SHARE", wait_ms=_WRITERS_WAIT_MS, limit_s=_LOCK_LIMIT_S)
        definitions = [definition_of(owner, table) for table in plan.tables]
        owner.execute(f"CREATE SCHEMA {_NEW}")
        owner.execute(f"SET LOCAL search_path = {_NEW}, public")
        for definition in definitions:
            _TableBuilder(owner, reader, plan, definition, progress).build()
        progress("References ...", 0)
        _add_references(owner, definitions)
        progress("Changing places ...", 0)
        _swap_tables(owner, plan, definitions)


def _prepare(owner: Connection, plan: RepartitionPlan) -> None:
    owner.execute("SET LOCAL statement_timeout = 0")
    owner.execute("SET LOCAL search_path = public")
    memory = sql.Literal(f"{plan.memory_bytes // 1024}kB")
    owner.execute(sql.SQL("SET LOCAL maintenance_work_mem = {}").format(memory))


@dataclass(frozen=True, slots=True)
class _TableBuilder:
    """The builder of one table's new form."""

    owner: Connection
    reader: Connection
    plan: RepartitionPlan
    definition: Definition
    progress: Progress

    def build(self) -> None:
        table = self.definition.table
        self._create_table()
        self._copy()
        self.progress(f"{table}: keys and indexes ...", 0)
        for statement in (*self.definition.keys, *self.definition.indexes):
            self.owner.execute(statement)
        self._name_indexes()
        self._index_workspaces()
        for statement in (*self.definition.triggers, *self.definition.rights):
            self.owner.execute(statement)
        self._continue_sequences()
        self.owner.execute(f"ANALYZE {_NEW}.{table}")

    def _create_table(self) -> None:
        table, parts = self.definition.table, self.plan.parts
        cut = "PARTITION BY HASH (workspace_id)" if parts else ""
        self.owner.execute(
            f"CREATE TABLE {_NEW}.{table} (LIKE public.{table} INCLUDING ALL EXCLUDING INDEXES) {cut}"
        )
        for number in range(parts):
            self.owner.execute(
                f"CREATE TABLE {_NEW}.{leaf_name(table, number)} PARTITION OF {_NEW}.{table}"
                f" FOR VALUES WITH (MODULUS {parts}, REMAINDER {number})"
            )

    def _copy(self) -> None:
        table = self.definition.table
        rows: Sequence[tuple[str, list[uuid.UUID] | None]] = [(table, None)]
        if self.plan.parts:
            rows = [(leaf_name(table, number), ids) for number, ids in self._workspaces_of_parts()]
        for into, workspaces in rows:
            copy_rows(
                self.reader,
                self.owner,
                table,
                columns=self.definition.columns,
                into=into,
                workspaces=workspaces,
                on_bytes=lambda more: self.progress(f"{table}: rows", more),
            )

    def _workspaces_of_parts(self) -> Sequence[tuple[int, list[uuid.UUID]]]:
        parts, table = self.plan.parts, f"{_NEW}.{self.definition.table}"
        rows: list[tuple[int, list[uuid.UUID]]] = self.owner.execute(
            _OF_PARTS, [parts, table, parts]
        ).fetchall()
        return rows

    def _name_indexes(self) -> None:
        """Name a leaf's indexes and keys after the parent's: code maps violations by constraint name."""
        for number in range(self.plan.parts):
            leaf = f"{_NEW}.{leaf_name(self.definition.table, number)}"
            for child, parent in self.owner.execute(_INDEXES_OF_LEAF, [leaf]).fetchall():
                names = sql.Identifier(_NEW, child), sql.Identifier(leaf_name(parent, number))
                self.owner.execute(sql.SQL("ALTER INDEX {} RENAME TO {}").format(*names))

    def _index_workspaces(self) -> None:
        leaves = {str(id_): number for number, ids in self._workspaces_of_parts() for id_ in ids}
        for index in self.definition.private_indexes:
            table = self.definition.table
            if self.plan.parts and index.workspace_id not in leaves:
                continue
            self.progress(f"{table}: vectors of workspace {index.workspace_id} ...", 0)
            on = leaf_name(table, leaves[index.workspace_id]) if self.plan.parts else table
            self.owner.execute(index.statement_on(on))

    def _continue_sequences(self) -> None:
        for column, old in self.definition.sequences:
            new = f"pg_get_serial_sequence('{_NEW}.{self.definition.table}', %s)"
            self.owner.execute(f"SELECT setval({new}, last_value, is_called) FROM {old}", [column])  # noqa: S608  # from the catalog


def _add_references(owner: Connection, definitions: Sequence[Definition]) -> None:
    """Create the foreign keys, checked; writers to the referenced tables wait until the end."""

    def add_references() -> None:
        for definition in definitions:
            for statement in definition.references:
                owner.execute(statement)

    retry_with_locks(owner, add_references, wait_ms=_WRITERS_WAIT_MS, limit_s=_LOCK_LIMIT_S)


def _swap_tables(owner: Connection, plan: RepartitionPlan, definitions: Sequence[Definition]) -> None:
    owner.execute("SET LOCAL search_path = public")
    incoming = incoming_references(owner, plan.tables)
    # Dropping a reference locks both of its tables.
    related = {*referenced_tables(owner, plan.tables), *(each.table for each in incoming)}
    tables = (*plan.tables, *sorted(related))
    lock_tables(owner, tables, "ACCESS EXCLUSIVE", wait_ms=_READERS_WAIT_MS, limit_s=_LOCK_LIMIT_S)
    for reference in incoming:
        owner.execute(f"ALTER TABLE {reference.table} DROP CONSTRAINT {reference.name}")
    owner.execute(f"DROP TABLE {', '.join(plan.tables)}")
    for definition in definitions:
        owner.execute(f"ALTER TABLE {_NEW}.{definition.table} SET SCHEMA public")
    _move_leaves(owner, plan)
    for reference in incoming:
        owner.execute(f"ALTER TABLE {reference.table} ADD CONSTRAINT {reference.name} {reference.definition}")
    owner.execute(f"DROP SCHEMA {_NEW}")


def _move_leaves(owner: Connection, plan: RepartitionPlan) -> None:
    if not plan.parts:
        owner.execute(f"DROP SCHEMA IF EXISTS {LEAVES}")
        return
    owner.execute(f"CREATE SCHEMA IF NOT EXISTS {LEAVES}")
    for table in plan.tables:
        for number in range(plan.parts):
            owner.execute(f"ALTER TABLE {_NEW}.{leaf_name(table, number)} SET SCHEMA {LEAVES}")
