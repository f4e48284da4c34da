"""A table's definition, read from the catalog as statements that recreate it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from psycopg import Connection, errors, sql

from kebab.tenancy.partitions.layout import SqlExecutor

_COLUMNS: Final = """
SELECT attname FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum
"""
# Keys first: references need them.
_KEYS: Final = """
SELECT format('ALTER TABLE %%I ADD CONSTRAINT %%I %%s', %s::text, conname, pg_get_constraintdef(oid))
FROM pg_constraint WHERE conrelid = %s::regclass AND contype IN ('p', 'u', 'x') AND conparentid = 0
ORDER BY contype, conname
"""
_REFERENCES: Final = """
SELECT format('ALTER TABLE %%I ADD CONSTRAINT %%I %%s', %s::text, conname, pg_get_constraintdef(oid))
FROM pg_constraint WHERE conrelid = %s::regclass AND contype = 'f' AND conparentid = 0 ORDER BY conname
"""
# Those whose condition names one workspace belong to its leaf; see `PrivateIndex`.
_INDEXES: Final = """
SELECT pg_get_indexdef(indexrelid) FROM pg_index i
WHERE indrelid = %s::regclass AND indislive
AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = i.indexrelid AND contype IN ('p', 'u', 'x'))
AND (indpred IS NULL OR pg_get_expr(indpred, indrelid) !~ 'workspace_id = ''') ORDER BY indexrelid
"""
_PRIVATE: Final = """
SELECT pg_get_indexdef(indexrelid),
    substring(pg_get_expr(indpred, indrelid) from 'workspace_id = ''([0-9a-f-]{36})''')
FROM pg_index WHERE indisvalid AND pg_get_expr(indpred, indrelid) ~ 'workspace_id = '''
AND indrelid IN (SELECT %s::regclass UNION SELECT relid FROM pg_partition_tree(%s::regclass))
ORDER BY indexrelid
"""
_POLICIES: Final = """
SELECT format('CREATE POLICY %%I ON %%I AS %%s FOR %%s TO %%s', policyname, tablename, permissive, cmd,
    (SELECT string_agg(CASE role WHEN 'public' THEN 'PUBLIC' ELSE quote_ident(role) END, ', ')
        FROM unnest(roles) role))
    || coalesce(' USING (' || qual || ')', '') || coalesce(' WITH CHECK (' || with_check || ')', '')
FROM pg_policies WHERE schemaname = 'public' AND tablename = %s ORDER BY policyname
"""
_SWITCHES: Final = """
SELECT format('ALTER TABLE %%I %%s ROW LEVEL SECURITY', relname, word)
FROM pg_class, unnest(ARRAY['ENABLE', 'FORCE'], ARRAY[relrowsecurity, relforcerowsecurity]) s(word, is_on)
WHERE oid = %s::regclass AND is_on
"""
_GRANTS: Final = """
SELECT format('GRANT %%s ON %%I TO %%s', privilege_type, relname,
    CASE WHEN grantee = 0 THEN 'PUBLIC' ELSE grantee::regrole::text END)
    || CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END
FROM pg_class, aclexplode(relacl) WHERE oid = %s::regclass AND grantee <> relowner
"""
_TRIGGERS: Final = """
SELECT pg_get_triggerdef(oid, true) FROM pg_trigger
WHERE tgrelid = %s::regclass AND NOT tgisinternal AND tgparentid = 0 ORDER BY tgname
"""
_SEQUENCES: Final = """
SELECT attname, pg_get_serial_sequence(%s, attname) FROM pg_attribute
WHERE attrelid = %s::regclass AND attidentity <> ''
"""
# References of tables that are not converted; they are created again to the new ones.
_INCOMING: Final = """
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE confrelid = ANY(%s::regclass[]) AND contype = 'f' AND conparentid = 0
AND NOT conrelid = ANY(%s::regclass[]) ORDER BY conname
"""
_NEIGHBOURS: Final = """
SELECT DISTINCT confrelid::regclass::text FROM pg_constraint
WHERE conrelid = ANY(%s::regclass[]) AND contype = 'f' AND conparentid = 0
AND NOT confrelid = ANY(%s::regclass[]) ORDER BY 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateIndex:
    """An index over one workspace's rows alone, like those of vectors."""

    statement: str
    workspace_id: str

    def statement_on(self, table: str) -> str:
        """Return the statement that creates it on another table."""
        head, tail = self.statement.split(" ON ", 1)
        return f"{head} ON {table} USING {tail.split(' USING ', 1)[1]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A table's statements; they name tables without schema, so that the search path decides."""

    table: str
    #: The columns to copy, without generated ones.
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    indexes: tuple[str, ...]
    private_indexes: tuple[PrivateIndex, ...]
    references: tuple[str, ...]
    triggers: tuple[str, ...]
    #: Policies, the switches of row-level security, grants.
    rights: tuple[str, ...]
    #: Identity columns, each with the name of its sequence.
    sequences: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingReference:
    """A foreign key of an unconverted table to a converted one."""

    table: str
    name: str
    definition: str


def definition_of(owner: SqlExecutor, table: str) -> Definition:
    """Return a table's definition, read from the catalog."""

    def column(query: str, *values: str) -> tuple[str, ...]:
        return tuple(row[0] for row in owner.execute(query, values).fetchall())

    private = owner.execute(_PRIVATE, [table, table]).fetchall()
    return Definition(
        table=table,
        columns=column(_COLUMNS, table),
        keys=column(_KEYS, table, table),
        indexes=tuple(_without_schema(text) for text in column(_INDEXES, table)),
        private_indexes=tuple(PrivateIndex(statement=text, workspace_id=id_) for text, id_ in private),
        references=column(_REFERENCES, table, table),
        triggers=column(_TRIGGERS, table),
        rights=column(_POLICIES, table) + column(_SWITCHES, table) + column(_GRANTS, table),
        sequences=tuple(owner.execute(_SEQUENCES, [table, table]).fetchall()),
    )


def incoming_references(owner: SqlExecutor, tables: Sequence[str]) -> list[IncomingReference]:
    """Return the foreign keys of other tables to these."""
    rows = owner.execute(_INCOMING, [list(tables), list(tables)]).fetchall()
    return [IncomingReference(table=table, name=name, definition=text) for table, name, text in rows]


def referenced_tables(owner: SqlExecutor, tables: Sequence[str]) -> list[str]:
    """Return the other tables that these refer to."""
    return [name for (name,) in owner.execute(_NEIGHBOURS, [list(tables), list(tables)]).fetchall()]


def _without_schema(statement: str) -> str:
    head, tail = statement.split(" ON ", 1)
    table, rest = tail.removeprefix("ONLY ").split(" ", 1)
    return f"{head} ON {table.rpartition('.')[2]} {rest}"


_REFUSED = (errors.LockNotAvailable, errors.DeadlockDetected)


class TablesBusy(Exception):
    """The tables could not be locked in time: long transactions hold them; end those, or try again."""


def lock_tables(
    connection: Connection, tables: Sequence[str], mode: str, *, wait_ms: int, limit_s: float
) -> None:
    """Lock tables together, in attempts of `wait_ms` with pauses of the same length. Raises TablesBusy."""
    names = sql.SQL(", ").join(sql.Identifier(*name.split(".")) for name in tables)
    locking = sql.SQL("LOCK TABLE {} IN {} MODE").format(names, sql.SQL(mode))
    retry_with_locks(connection, lambda: connection.execute(locking), wait_ms=wait_ms, limit_s=limit_s)


def retry_with_locks(
    connection: Connection, step: Callable[[], object], *, wait_ms: int, limit_s: float
) -> None:
    """Retry a step of a transaction until it gets its locks. Raises TablesBusy after `limit_s`."""
    deadline = time.monotonic() + limit_s
    while True:
        try:
            with connection.transaction():
                connection.execute(sql.SQL("SET LOCAL lock_timeout = {}").format(sql.Literal(f"{wait_ms}ms")))
                step()
            return
        except _REFUSED as error:
            if time.monotonic() > deadline:
                raise TablesBusy(
                    f"The tables could not be locked within {limit_s:g} s: {error}. Nothing was changed;"
                    " end long transactions, or try again when less is written."
                ) from error
            time.sleep(wait_ms / 1000)
