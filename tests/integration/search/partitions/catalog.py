"""Comparable descriptions of tables from the catalog."""

from django.db import connection

_QUERIES = {
    "columns": """
        SELECT attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated,
            pg_get_expr(adbin, adrelid), attcollation::regcollation::text
        FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum""",
    "constraints": """
        SELECT conname, contype, convalidated, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE conrelid = %s::regclass AND conparentid = 0 ORDER BY conname""",
    "references": """
        SELECT conrelid::regclass::text, conname, convalidated, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE confrelid = %s::regclass AND conparentid = 0 ORDER BY 1, 2""",
    "indexes": """
        SELECT relname, indisvalid, replace(pg_get_indexdef(indexrelid), 'ON ONLY ', 'ON ')
        FROM pg_index JOIN pg_class ON oid = indexrelid
        WHERE indrelid = %s::regclass AND relname NOT LIKE 'vector_hnsw_%%' ORDER BY 1""",
    "policies": """
        SELECT polname, polcmd, polpermissive, pg_get_expr(polqual, polrelid),
            pg_get_expr(polwithcheck, polrelid)
        FROM pg_policy WHERE polrelid = %s::regclass ORDER BY 1""",
    "switches": "SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE oid = %s::regclass",
    "owner": "SELECT relowner::regrole::text FROM pg_class WHERE oid = %s::regclass",
    "grants": """
        SELECT grantee::regrole::text, privilege_type FROM pg_class, aclexplode(relacl)
        WHERE oid = %s::regclass ORDER BY 1, 2""",
    "triggers": """
        SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger
        WHERE tgrelid = %s::regclass AND NOT tgisinternal ORDER BY 1""",
}


def describe_table(table: str) -> dict[str, list[tuple[object, ...]]]:
    """Return everything about a table except its rows."""
    with connection.cursor() as cursor:
        found = {}
        for name, query in _QUERIES.items():
            cursor.execute(query, [table])
            found[name] = cursor.fetchall()
        return found


def rows_of(table: str) -> list[tuple[object, ...]]:
    """Return all rows of a table in one order."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT t::text FROM {table} t ORDER BY 1")  # noqa: S608  # our own
        return cursor.fetchall()
