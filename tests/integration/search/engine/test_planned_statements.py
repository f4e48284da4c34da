"""Statements of the search path that a connection plans once, and when it plans again."""

import pytest
from django.db import connection, transaction

from kebab.tenancy.roles import owner_connection
from search.models import Chunk
from search.retrieval.types import Mode
from tests.integration.search.engine.statements import noted_statements
from tests.support.corpus import write, write_each
from tests.support.search import ask, embed, paths, sync


@pytest.fixture
def orchard(shared_workspace):
    write_each(shared_workspace, [f"apple {'pear ' * n}" for n in range(20)])
    write(shared_workspace, "de.md", "apple", lang="de")
    sync(shared_workspace)
    embed(shared_workspace)
    return shared_workspace


def test_every_connection_plans_each_statement_once_for_itself(orchard):
    for mode in Mode:
        expected = ask(orchard, "apple", mode)
        with noted_statements() as sent:
            found = ask(orchard, "apple", mode)
        assert found.hits == expected.hits and found.hits
        # The vectors that a fusion compares are read for spaces without codes only.
        planned = [sql for sql in sent if "halfvec_send" not in sql]
        assert planned and all("EXECUTE kebab_" in sql for sql in planned)
    connection.close()
    connection.close_pool()
    with noted_statements() as sent:
        assert ask(orchard, "apple").hits
    assert any("PREPARE" in sql for sql in sent)


def test_filtered_or_switched_off_statement_is_planned_each_time(orchard, settings):
    for _ in range(2):
        with noted_statements() as sent:
            assert paths(ask(orchard, "apple", lang=("de",))) == ["de.md"]
    assert len([sql for sql in sent if '"chunk_id" = ANY' in sql]) == 1
    settings.KEBAB_PLAN_ONCE = False
    with noted_statements() as sent:
        assert ask(orchard, "apple").hits
    assert not any("EXECUTE" in sql or "PREPARE" in sql for sql in sent)


def test_search_works_after_prepared_statements_are_deallocated(orchard):
    expected = ask(orchard, "apple").hits
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    for _ in range(2):
        assert ask(orchard, "apple").hits == expected
    connection.close()
    connection.close_pool()
    with transaction.atomic():
        assert ask(orchard, "apple").hits == expected
        transaction.set_rollback(True)
    assert ask(orchard, "apple").hits == expected


def test_search_works_while_a_migration_changes_a_column_type(orchard):
    expected = ask(orchard, "apple", Mode.HYBRID).hits
    altering = f"ALTER TABLE {Chunk._meta.db_table} ALTER section_label TYPE"
    usual = Chunk._meta.get_field("section_label").db_type(connection)
    try:
        with owner_connection() as owner:
            owner.execute(f"{altering} char(200)")
        found = ask(orchard, "apple", Mode.HYBRID).hits
    finally:
        with owner_connection() as owner:
            owner.execute(f"{altering} {usual}")
    assert [hit.chunk_id for hit in found] == [hit.chunk_id for hit in expected]
    assert ask(orchard, "apple", Mode.HYBRID).hits == expected
