"""Cutting tables into parts, and putting them together again, on a filled database.

All of it is one transaction: new tables are made beside the old ones in a schema of their own, filled,
indexed and counted while writers wait and readers go on; then they change places. Whatever ends it before
the commit leaves the old tables as they are, and nothing else.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from psycopg import Connection, sql

from kebab.tenancy.partitions.copy import copy_all, copy_part
from kebab.tenancy.partitions.definition import (
    Definition,
    definition_of,
    incoming_references,
    referenced_tables,
)
from kebab.tenancy.partitions.layout import LEAVES, leaf_name
from kebab.tenancy.partitions.locks import lock_tables, patiently

#: Where the new tables are made.
_NEW: Final = "kebab_new"
# While writers are kept out they wait five seconds before they answer `busy`, so that asking for this lock
# may keep them waiting for two. Longer than a second: then autovacuum makes way.
_WRITERS_WAIT_MS = 2_000
# For everybody, at the end.
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

#: Is told what is done now, and how much of it: (words, bytes more).
Progress = Callable[[str, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Which tables become how many parts; 0 makes them whole."""

    tables: tuple[str, ...]
    parts: int
    #: For sorting the rows of indexes, bytes.
    memory_bytes: int


def move_tables(owner: Connection, reader: Connection, move: Move, progress: Progress) -> None:
    """Carry out `move` over two connections of the tables' owner that act everywhere. Raises TablesBusy."""
    with owner.transaction():
        _prepare(owner, move)
        progress("Waiting for those who write ...", 0)
        lock_tables(owner, move.tables, "SHARE", wait_ms=_WRITERS_WAIT_MS, limit_s=_LOCK_LIMIT_S)
        definitions = [definition_of(owner, table) for table in move.tables]
        owner.execute(f"CREATE SCHEMA {_NEW}")
        owner.execute(f"SET LOCAL search_path = {_NEW}, public")
        for definition in definitions:
            _Building(owner, reader, move, definition, progress).build()
        progress("References ...", 0)
        _refer(owner, definitions)
        progress("Changing places ...", 0)
        _change_places(owner, move, definitions)


def _prepare(owner: Connection, move: Move) -> None:
    owner.execute("SET LOCAL statement_timeout = 0")
    owner.execute("SET LOCAL search_path = public")
    memory = sql.Literal(f"{move.memory_bytes // 1024}kB")
    owner.execute(sql.SQL("SET LOCAL maintenance_work_mem = {}").format(memory))


@dataclass(frozen=True, slots=True)
class _Building:
    """One table's new form, on its way."""

    owner: Connection
    reader: Connection
    move: Move
    definition: Definition
    progress: Progress

    def build(self) -> None:
        table = self.definition.table
        self._make()
        self._copy()
        self.progress(f"{table}: keys and indexes ...", 0)
        for statement in (*self.definition.keys, *self.definition.indexes):
            self.owner.execute(statement)
        self._name_indexes()
        self._index_workspaces()
        for statement in (*self.definition.triggers, *self.definition.rights):
            self.owner.execute(statement)
        self._number_on()
        self.owner.execute(f"ANALYZE {_NEW}.{table}")

    def _make(self) -> None:
        table, parts = self.definition.table, self.move.parts
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
        table, columns = self.definition.table, self.definition.columns
        words = f"{table}: rows"
        if not self.move.parts:
            copy_all(
                self.reader,
                self.owner,
                table,
                columns=columns,
                on_bytes=lambda more: self.progress(words, more),
            )
        for number, workspaces in self._workspaces_of_parts():
            copy_part(
                self.reader,
                self.owner,
                table,
                columns=columns,
                leaf=leaf_name(table, number),
                workspaces=workspaces,
                on_bytes=lambda more: self.progress(words, more),
            )

    def _workspaces_of_parts(self) -> Sequence[tuple[int, list[uuid.UUID]]]:
        parts, table = self.move.parts, f"{_NEW}.{self.definition.table}"
        rows: list[tuple[int, list[uuid.UUID]]] = self.owner.execute(
            _OF_PARTS, [parts, table, parts]
        ).fetchall()
        return rows

    def _name_indexes(self) -> None:
        """Name a leaf's indexes and keys after the parent's: code knows them by what a violation names."""
        for number in range(self.move.parts):
            leaf = f"{_NEW}.{leaf_name(self.definition.table, number)}"
            for child, parent in self.owner.execute(_INDEXES_OF_LEAF, [leaf]).fetchall():
                names = sql.Identifier(_NEW, child), sql.Identifier(leaf_name(parent, number))
                self.owner.execute(sql.SQL("ALTER INDEX {} RENAME TO {}").format(*names))

    def _index_workspaces(self) -> None:
        leaves = {str(id_): number for number, ids in self._workspaces_of_parts() for id_ in ids}
        for index in self.definition.private_indexes:
            table = self.definition.table
            if self.move.parts and index.workspace_id not in leaves:
                continue
            self.progress(f"{table}: vectors of workspace {index.workspace_id} ...", 0)
            on = leaf_name(table, leaves[index.workspace_id]) if self.move.parts else table
            self.owner.execute(index.on(on))

    def _number_on(self) -> None:
        for column, old in self.definition.sequences:
            new = f"pg_get_serial_sequence('{_NEW}.{self.definition.table}', %s)"
            self.owner.execute(f"SELECT setval({new}, last_value, is_called) FROM {old}", [column])  # noqa: S608  # from the catalog


def _refer(owner: Connection, definitions: Sequence[Definition]) -> None:
    """Make the references, checked; who writes to what they name waits until the end."""

    def refer() -> None:
        for definition in definitions:
            for statement in definition.references:
                owner.execute(statement)

    patiently(owner, refer, wait_ms=_WRITERS_WAIT_MS, limit_s=_LOCK_LIMIT_S)


def _change_places(owner: Connection, move: Move, definitions: Sequence[Definition]) -> None:
    owner.execute("SET LOCAL search_path = public")
    incoming = incoming_references(owner, move.tables)
    # Whoever is referred to or refers is locked as well when a reference goes.
    beside = {*referenced_tables(owner, move.tables), *(each.table for each in incoming)}
    tables = (*move.tables, *sorted(beside))
    lock_tables(owner, tables, "ACCESS EXCLUSIVE", wait_ms=_READERS_WAIT_MS, limit_s=_LOCK_LIMIT_S)
    for reference in incoming:
        owner.execute(f"ALTER TABLE {reference.table} DROP CONSTRAINT {reference.name}")
    owner.execute(f"DROP TABLE {', '.join(move.tables)}")
    for definition in definitions:
        owner.execute(f"ALTER TABLE {_NEW}.{definition.table} SET SCHEMA public")
    _put_leaves(owner, move)
    for reference in incoming:
        owner.execute(f"ALTER TABLE {reference.table} ADD CONSTRAINT {reference.name} {reference.definition}")
    owner.execute(f"DROP SCHEMA {_NEW}")


def _put_leaves(owner: Connection, move: Move) -> None:
    if not move.parts:
        owner.execute(f"DROP SCHEMA IF EXISTS {LEAVES}")
        return
    owner.execute(f"CREATE SCHEMA IF NOT EXISTS {LEAVES}")
    for table in move.tables:
        for number in range(move.parts):
            owner.execute(f"ALTER TABLE {_NEW}.{leaf_name(table, number)} SET SCHEMA {LEAVES}")
