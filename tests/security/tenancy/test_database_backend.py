"""The workspace setting is sent with each statement and ends with its transaction."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context

import psycopg
import pytest
from django.db import DataError, IntegrityError, ProgrammingError, connection, connections, transaction
from psycopg import sql

from kebab.identity.models import Group, Workspace
from kebab.tenancy.current_workspace import acting_everywhere, acting_in, acting_nowhere, workspace_setting

SHOWN = "SELECT current_setting('kebab.workspace_id', true)"


@pytest.fixture
def tenants(transactional_db):
    """Create two committed workspaces with a group each: statements run in autocommit."""
    workspaces = [Workspace.objects.create(slug=slug, name=slug) for slug in ("alpha", "beta")]
    for workspace in workspaces:
        Group.objects.create(workspace=workspace, name=f"readers of {workspace.slug}")
    return workspaces


def names():
    return list(Group.objects.order_by("name").values_list("name", flat=True))


def current_setting():
    with connection.cursor() as cursor:
        cursor.execute(SHOWN)
        return cursor.fetchone()[0]


def setting_of_raw_connection():
    """Return the setting between two statements, bypassing our cursors."""
    with psycopg.Cursor(connection.connection) as cursor:
        return cursor.execute(SHOWN).fetchone()[0]


@pytest.mark.parametrize("in_transaction", [False, True])
def test_statement_sees_the_workspace_of_its_code(tenants, in_transaction):
    alpha, beta = tenants
    with transaction.atomic() if in_transaction else nullcontext():
        for workspace in (alpha, beta, alpha):
            with acting_in(workspace.pk):
                assert names() == [f"readers of {workspace.slug}"]
        with acting_nowhere():
            assert names() == []
        with acting_everywhere():
            assert len(names()) == 2


def test_setting_ends_with_its_statement_in_autocommit(tenants):
    with acting_in(tenants[0].pk):
        assert current_setting() == str(tenants[0].pk)
        assert setting_of_raw_connection() in {None, ""}


def test_setting_ends_with_its_transaction(tenants):
    with acting_in(tenants[0].pk), transaction.atomic():
        assert names()
        assert setting_of_raw_connection() == str(tenants[0].pk)
    assert setting_of_raw_connection() == ""


def test_results_belong_to_the_statement_and_not_to_its_setting(tenants):
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 AS one, 'x' AS letter UNION ALL SELECT 2, 'y' ORDER BY 1")
        assert [column.name for column in cursor.description] == ["one", "letter"]
        assert cursor.rowcount == 2
        assert cursor.fetchone() == (1, "x")
        assert cursor.fetchmany(5) == [(2, "y")]
        assert cursor.nextset() is None
        cursor.execute("UPDATE people_group SET name = name")
        assert (cursor.rowcount, cursor.description) == (2, None)
        cursor.execute("SELECT 1; SELECT 2")
        assert cursor.fetchall() == [(1,)]
        assert cursor.nextset()
        assert cursor.fetchall() == [(2,)]


@pytest.mark.parametrize(
    "statement",
    [f"{SHOWN} -- 100%", SHOWN.encode(), sql.SQL(SHOWN), sql.SQL("SELECT {}").format(sql.SQL(SHOWN[7:]))],
    ids=["str", "bytes", "sql", "composed"],
)
def test_every_kind_of_statement_works(statement, tenants):
    with acting_in(tenants[0].pk), connection.cursor() as cursor:
        cursor.execute(statement)
        assert cursor.fetchone() == (str(tenants[0].pk),)


@pytest.mark.parametrize("in_transaction", [False, True])
def test_executemany_applies_the_setting(tenants, in_transaction):
    alpha, beta = tenants
    rows = [(uuid.uuid4(), alpha.pk, f"group {n}") for n in range(3)]
    insert = "INSERT INTO people_group (id, workspace_id, name, created_at) VALUES (%s, %s, %s, now())"
    with acting_in(alpha.pk), transaction.atomic() if in_transaction else nullcontext():
        with connection.cursor() as cursor:
            cursor.executemany(insert, rows)
            assert cursor.rowcount == 3
        assert len(names()) == 4
    refused = pytest.raises(ProgrammingError, match="row-level security")
    with acting_in(beta.pk), refused, connection.cursor() as cursor:
        cursor.executemany(insert, [(uuid.uuid4(), alpha.pk, "planted")])
    assert setting_of_raw_connection() in {None, ""}


@pytest.mark.parametrize("in_transaction", [False, True])
def test_server_side_cursor_sees_one_workspace(tenants, in_transaction):
    alpha, _ = tenants
    with acting_in(alpha.pk), transaction.atomic() if in_transaction else nullcontext():
        found = Group.objects.values_list("name", flat=True).iterator(chunk_size=1)
        assert list(found) == ["readers of alpha"]
    with acting_nowhere(), transaction.atomic() if in_transaction else nullcontext():
        assert list(Group.objects.iterator(chunk_size=1)) == []
    assert setting_of_raw_connection() in {None, ""}


def test_statement_that_bypasses_our_cursors_sees_nothing(tenants):
    with acting_everywhere():
        assert names()
        with psycopg.Cursor(connection.connection) as cursor:
            assert cursor.execute("SELECT count(*) FROM people_group").fetchone() == (0,)
        with connection.cursor() as cursor:
            assert list(cursor.stream("SELECT name FROM people_group")) == []
            with cursor.copy("COPY people_group TO STDOUT") as copy:
                assert list(copy.rows()) == []


def test_rollback_to_a_savepoint_restores_no_other_workspace(tenants):
    alpha, beta = tenants
    with transaction.atomic():
        with acting_in(alpha.pk):
            assert names() == ["readers of alpha"]
        savepoint = transaction.savepoint()
        with acting_in(beta.pk):
            assert names() == ["readers of beta"]
            transaction.savepoint_rollback(savepoint)
            assert names() == ["readers of beta"]


@pytest.mark.parametrize("in_transaction", [False, True])
@pytest.mark.parametrize("statement", ["SELECT 1/0", "SELECT nonsense", "SELECT 1; SELECT 1/0"])
def test_connection_works_after_a_failed_statement(tenants, statement, in_transaction):
    with acting_in(tenants[0].pk):
        before = connection.connection
        around = transaction.atomic() if in_transaction else nullcontext()
        with pytest.raises((DataError, ProgrammingError)), around, connection.cursor() as cursor:
            cursor.execute(statement)
        assert names() == ["readers of alpha"]
        assert connection.connection is before
    assert setting_of_raw_connection() in {None, ""}


def test_failure_in_a_transaction_is_rolled_back_to_its_savepoint(tenants):
    alpha, _ = tenants
    with acting_in(alpha.pk), transaction.atomic():
        with pytest.raises(IntegrityError), transaction.atomic():
            Group.objects.create(workspace=alpha, name="readers of alpha")
        assert names() == ["readers of alpha"]


def test_pooled_connection_carries_no_setting_to_the_next_thread(tenants):
    alpha, _ = tenants

    def look():
        found = (names(), connection.connection.info.backend_pid)
        connection.close()
        return found

    def abandon_transaction():
        connection.set_autocommit(False)
        seen = names()
        pid = connection.connection.info.backend_pid
        connection.close()  # returns to the pool, which rolls back
        return seen, pid

    connection.close()
    connection.close_pool()
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        with acting_in(alpha.pk):
            assert first.submit(copy_context().run, abandon_transaction).result()[0] == ["readers of alpha"]
            seen, pid = first.submit(copy_context().run, look).result()
        assert seen == ["readers of alpha"]
        assert second.submit(look).result() == ([], pid)


def test_new_thread_starts_without_a_workspace(tenants):
    with acting_everywhere(), ThreadPoolExecutor(1) as threads:
        assert threads.submit(workspace_setting).result() == ""


def test_session_locks_outlive_their_statement(tenants):
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(4711)")
        assert cursor.fetchone() == (True,)
        cursor.execute("SELECT pg_advisory_unlock(4711)")
        assert cursor.fetchone() == (True,)


def test_snapshot_can_be_set_first(tenants):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        cursor.execute("SHOW transaction_isolation")
        assert cursor.fetchone() == ("repeatable read",)


def test_owner_is_another_role(tenants):
    assert connections["owner"].settings_dict["USER"] != connections["default"].settings_dict["USER"]
    assert connections["owner"].settings_dict["NAME"] == connections["default"].settings_dict["NAME"]
