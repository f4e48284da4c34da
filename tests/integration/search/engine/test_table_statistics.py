"""Tables without statistics are analysed, others are left alone."""

from django.db import connection

from kebab.tenancy.roles import owner_connection
from search.corpus.table_statistics import refresh_statistics
from tests.support.corpus import write

TABLES = {"search_document", "search_chunk", "search_chunkvector"}


def rows_believed(table):
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE oid = %s::regclass", [table])
        return cursor.fetchone()[0]


def believe(tuples, pages):
    with owner_connection() as owner:
        owner.execute(
            "UPDATE pg_class SET reltuples = %s, relpages = %s WHERE oid = ANY(%s::regclass[])",
            [tuples, pages, sorted(TABLES)],
        )


def test_table_without_statistics_is_analysed(workspace):
    believe(tuples=-1, pages=0)
    write(workspace, "a.md", *(f"apple {n}" for n in range(40)))
    assert set(refresh_statistics()) == TABLES
    assert rows_believed("search_chunk") == 40


def test_outgrown_table_is_analysed_again(workspace):
    write(workspace, "a.md", *(f"apple {n} {'pear ' * 60}" for n in range(400)))
    refresh_statistics()
    assert refresh_statistics() == []
    believe(tuples=1, pages=1)
    assert "search_chunk" in refresh_statistics()
    assert rows_believed("search_chunk") == 400


def test_statistics_of_a_16_tb_table_are_compared_without_overflow(workspace):
    believe(tuples=10**9, pages=2**31 - 1)  # 16 TB
    try:
        assert refresh_statistics() == []
    finally:
        believe(tuples=-1, pages=0)
