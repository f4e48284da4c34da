"""Empty the test database between tests that commit."""

from functools import cache

from django.db import connections
from django.test import TransactionTestCase
from psycopg import Connection, sql

from kebab.tenancy.roles import APPLICATION, owner_connection

# `post_migrate` would fill these again after a flush, with the same rows.
_KEPT = frozenset({"django_content_type", "auth_permission"})
# Deleted rows of a table that grows larger would be read by each look whether it is empty.
_TRUNCATED_ABOVE_BYTES = 256 * 1024

_CREATE = """
CREATE OR REPLACE FUNCTION pg_temp.empty_tables() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
{statements}
END
$$
"""
_EMPTY_ONE = """
IF EXISTS (SELECT FROM {table}) THEN
    IF pg_relation_size({name}) > {limit} THEN TRUNCATE {table} CASCADE; ELSE DELETE FROM {table}; END IF;
END IF;
"""


class _Owner:
    """The connection of the tables' owner, kept for the session: it made the function that empties them."""

    def __init__(self) -> None:
        self._context = owner_connection()
        self.connection: Connection = self._context.__enter__()
        self.connection.execute("SET session_replication_role = replica")  # neither triggers nor foreign keys
        self.connection.execute(_function())

    def close(self) -> None:
        self._context.__exit__(None, None, None)


@cache
def _owner() -> _Owner:
    return _Owner()


def _function() -> sql.Composed:
    names = connections[APPLICATION].introspection.django_table_names(only_existing=True, include_views=False)
    statements = [
        sql.SQL(_EMPTY_ONE).format(
            table=sql.Identifier(name), name=sql.Literal(name), limit=sql.Literal(_TRUNCATED_ABOVE_BYTES)
        )
        for name in sorted(set(names) - _KEPT)
    ]
    return sql.SQL(_CREATE).format(statements=sql.SQL("").join(statements))


def empty_tables() -> None:
    """Delete all rows that tests committed: 3 ms where `flush` with its `post_migrate` takes 190."""
    _owner().connection.execute("SELECT pg_temp.empty_tables()")


def close_owner_connection() -> None:
    """Close the connection that `empty_tables` keeps."""
    if _owner.cache_info().currsize:
        _owner().close()
        _owner.cache_clear()


def replace_flush() -> None:
    """Make transactional tests end with `empty_tables` in place of Django's `flush`."""
    TransactionTestCase._fixture_teardown = lambda self: empty_tables()


def count_corpus() -> None:
    """Vacuum and analyse the tables, so that plans do not depend on the rows of earlier tests."""
    with owner_connection() as owner:
        owner.execute("VACUUM (ANALYZE) search_document, search_chunk, search_chunkvector")
