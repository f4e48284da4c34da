"""Tables hash-partitioned by workspace, as `kebab partition` of earlier versions left them."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from django.db import connections

from kebab.tenancy.postgres.pool import connect
from kebab.tenancy.roles import OWNER

#: The tables that it converted, referenced ones first.
TABLES: Final = ("search_document", "search_chunk", "search_chunkvector", "search_change")

_COUNT: Final = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'public.search_document'::regclass"
_COLUMNS: Final = """
SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
"""
_CONSTRAINTS: Final = """
SELECT format('ALTER TABLE %%I ADD CONSTRAINT %%I %%s', %s::text, conname, pg_get_constraintdef(oid))
FROM pg_constraint
WHERE conrelid = %s::regclass AND conparentid = 0 AND contype = ANY(%s) ORDER BY contype, conname
"""
_INDEXES: Final = """
SELECT regexp_replace(pg_get_indexdef(indexrelid), ' ON (ONLY )?public\\.', ' ON ') FROM pg_index i
WHERE indrelid = %s::regclass AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = i.indexrelid)
AND coalesce(pg_get_expr(indpred, indrelid), '') !~ 'workspace_id = ''' ORDER BY indexrelid
"""
# The vector index of a workspace is on that workspace's partition.
_PRIVATE_INDEXES: Final = """
SELECT regexp_replace(pg_get_indexdef(indexrelid), ' ON .* USING ', ' ON {} USING '),
    substring(pg_get_expr(indpred, indrelid) from 'workspace_id = ''([0-9a-f-]{36})''')::uuid
FROM pg_index WHERE pg_get_expr(indpred, indrelid) ~ 'workspace_id = '''
AND indrelid IN (SELECT relid FROM pg_partition_tree(%s::regclass) UNION SELECT %s::regclass)
"""
_RIGHTS: Final = """
SELECT format('CREATE POLICY %%I ON %%I AS %%s FOR %%s TO %%s', policyname, tablename, permissive, cmd,
        array_to_string(roles, ', '))
    || coalesce(' USING (' || qual || ')', '') || coalesce(' WITH CHECK (' || with_check || ')', '')
FROM pg_policies WHERE schemaname = 'public' AND tablename = %(table)s
UNION ALL
SELECT format('ALTER TABLE %%I %%s ROW LEVEL SECURITY', relname, word)
FROM pg_class, unnest(ARRAY['ENABLE', 'FORCE'], ARRAY[relrowsecurity, relforcerowsecurity]) s(word, is_on)
WHERE oid = %(table)s::regclass AND is_on
UNION ALL
SELECT format('GRANT %%s ON %%I TO %%s', privilege_type, relname, grantee::regrole)
FROM pg_class, aclexplode(relacl) WHERE oid = %(table)s::regclass AND grantee NOT IN (relowner, 0)
UNION ALL
SELECT pg_get_triggerdef(oid, true) FROM pg_trigger
WHERE tgrelid = %(table)s::regclass AND NOT tgisinternal AND tgparentid = 0
"""
_LEAF_INDEXES: Final = """
SELECT format('ALTER INDEX kebab_new.%%I RENAME TO %%I', child.relname, parent.relname || '_' || %s)
FROM pg_index JOIN pg_inherits ON inhrelid = indexrelid
JOIN pg_class child ON child.oid = inhrelid JOIN pg_class parent ON parent.oid = inhparent
WHERE indrelid = %s::regclass
"""
_SEQUENCES: Final = """
SELECT format('SELECT setval(pg_get_serial_sequence(''kebab_new.%%s'', %%L), last_value, is_called) FROM %%s',
    %s::text, attname, pg_get_serial_sequence(%s, attname))
FROM pg_attribute WHERE attrelid = %s::regclass AND attidentity <> ''
"""
_INCOMING: Final = """
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE confrelid = ANY(%s::regclass[]) AND contype = 'f' AND conparentid = 0
AND NOT conrelid = ANY(%s::regclass[])
"""


def partition_count() -> int:
    """Return the number of partitions of each table; 0 for whole tables."""
    with connections[OWNER].cursor() as cursor:
        cursor.execute(_COUNT)
        return int(cursor.fetchone()[0])


def partition_tables(parts: int) -> None:
    """Cut the tables into `parts`, or make them whole for 0, in one transaction of their owner."""
    options = "-c kebab.workspace_id=*"
    with connect(connections[OWNER].settings_dict, options=options) as owner, owner.transaction():
        owner.execute("SET LOCAL statement_timeout = 0")
        owner.execute("SET LOCAL search_path = public")
        definitions = [_Definition.of(owner, table) for table in TABLES]
        owner.execute("CREATE SCHEMA kebab_new")
        owner.execute("SET LOCAL search_path = kebab_new, public")
        for definition in definitions:
            _build(owner, definition, parts)
        for definition in definitions:
            _run(owner, definition.references)
        _swap(owner, parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Definition:
    """A table's definition, as statements that name it without its schema."""

    table: str
    columns: str
    keys: Sequence[str]
    references: Sequence[str]
    #: Indexes of one workspace's rows, with a place for the table's name, and that workspace.
    private_indexes: Sequence[tuple[str, uuid.UUID]]
    #: Policies, grants, triggers and sequences.
    rights: Sequence[str]

    @classmethod
    def of(cls, owner: Any, table: str) -> Self:
        """Read the definition from the catalog."""
        return cls(
            table=table,
            columns=_texts(owner, _COLUMNS, table)[0],
            keys=[
                *_texts(owner, _CONSTRAINTS, table, table, ["p", "u", "x"]),
                *_texts(owner, _INDEXES, table),
            ],
            references=_texts(owner, _CONSTRAINTS, table, table, ["f"]),
            private_indexes=owner.execute(_PRIVATE_INDEXES, [table, table]).fetchall(),
            rights=[
                *(text for (text,) in owner.execute(_RIGHTS, {"table": table}).fetchall()),
                *_texts(owner, _SEQUENCES, table, table, table),
            ],
        )


def _build(owner: Any, definition: _Definition, parts: int) -> None:
    """Build the new form of a table with its rows, except its references."""
    table, columns = definition.table, definition.columns
    cut = "PARTITION BY HASH (workspace_id)" if parts else ""
    owner.execute(
        f"CREATE TABLE kebab_new.{table} (LIKE public.{table} INCLUDING ALL EXCLUDING INDEXES) {cut}"
    )
    for number in range(parts):
        owner.execute(
            f"CREATE TABLE kebab_new.{table}_{number} PARTITION OF kebab_new.{table}"
            f" FOR VALUES WITH (MODULUS {parts}, REMAINDER {number})"
        )
    rows = f"SELECT {columns} FROM public.{table}"  # noqa: S608  # from the catalog
    owner.execute(f"INSERT INTO kebab_new.{table} ({columns}) OVERRIDING SYSTEM VALUE {rows}")
    _run(owner, definition.keys)
    for number in range(parts):
        _run(owner, _texts(owner, _LEAF_INDEXES, str(number), f"kebab_new.{table}_{number}"))
    for statement, workspace_id in definition.private_indexes:
        leaf = f"SELECT tableoid::regclass::text FROM {table} WHERE workspace_id = %s LIMIT 1"  # noqa: S608  # our own
        _run(owner, [statement.format(on) for on in _texts(owner, leaf, workspace_id)])
    _run(owner, definition.rights)
    owner.execute(f"ANALYZE kebab_new.{table}")


def _swap(owner: Any, parts: int) -> None:
    owner.execute("SET LOCAL search_path = public")
    incoming = owner.execute(_INCOMING, [list(TABLES), list(TABLES)]).fetchall()
    _run(owner, [f"ALTER TABLE {table} DROP CONSTRAINT {name}" for table, name, _ in incoming])
    owner.execute(f"DROP TABLE {', '.join(TABLES)}")
    owner.execute("DROP SCHEMA IF EXISTS kebab_parts")
    owner.execute("CREATE SCHEMA kebab_parts")
    for table in TABLES:
        owner.execute(f"ALTER TABLE kebab_new.{table} SET SCHEMA public")
        for number in range(parts):
            owner.execute(f"ALTER TABLE kebab_new.{table}_{number} SET SCHEMA kebab_parts")
    _run(owner, [f"ALTER TABLE {table} ADD CONSTRAINT {name} {text}" for table, name, text in incoming])
    owner.execute("DROP SCHEMA kebab_new")
    if not parts:
        owner.execute("DROP SCHEMA kebab_parts")


def _texts(owner: Any, query: str, *values: Any) -> list[str]:
    return [text for (text,) in owner.execute(query, values).fetchall()]


def _run(owner: Any, statements: Sequence[str]) -> None:
    for statement in statements:
        owner.execute(statement)
