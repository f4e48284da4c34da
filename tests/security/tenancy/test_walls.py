"""Queries without any condition see the rows of the present workspace, and no others."""

import pytest
from django.db import ProgrammingError, connection, transaction
from django.db.models import Count
from psycopg import sql

from kebab.identity.models import AuditEvent, Membership, Workspace
from kebab.tenancy.current_workspace import acting_in, acting_nowhere
from search.models import Chunk, Document, Source
from tests.security.tenancy.tenants import MODELS, RECORDS, column_of

WRITABLE = [model for model in MODELS if model not in RECORDS]


def owners_of(model):
    return set(model.objects.values_list(column_of(model), flat=True))


def execute(statement, model, *parameters):
    """Run a statement on a model's {table}, its workspace {column}, and its {columns}."""
    stored = [field.column for field in model._meta.concrete_fields if not field.generated]
    query = sql.SQL(statement).format(
        table=sql.Identifier(model._meta.db_table),
        column=sql.Identifier(column_of(model).replace("pk", "id")),
        columns=sql.SQL(", ").join(map(sql.Identifier, stored)),
    )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return cursor.fetchall() if cursor.description else cursor.rowcount


def raw_count(model):
    return execute("SELECT count(*) FROM {table}", model)[0][0]


def test_query_sees_the_present_workspace_alone(alpha, beta, subtests):
    for model in MODELS:
        with subtests.test(model=model.__name__):
            assert owners_of(model) >= {alpha.id, beta.id}
            with acting_in(alpha.id):
                assert owners_of(model) == {alpha.id}
                assert raw_count(model) == model.objects.count() > 0
                assert not model.objects.filter(**{column_of(model): beta.id}).exists()


def test_query_without_a_workspace_sees_nothing(alpha, subtests):
    for model in MODELS:
        with subtests.test(model=model.__name__), acting_nowhere():
            assert raw_count(model) == 0
            assert not model.objects.exists()


def test_unconditional_update_changes_no_other_workspace(alpha, beta, subtests):
    for model in WRITABLE:
        with subtests.test(model=model.__name__), acting_in(alpha.id):
            assert execute("UPDATE {table} SET {column} = {column} WHERE {column} = %s", model, beta.id) == 0
            assert execute("UPDATE {table} SET {column} = {column}", model) == model.objects.count()


def test_unconditional_deletion_deletes_in_no_other_workspace(alpha, beta, subtests):
    for model in WRITABLE:
        with subtests.test(model=model.__name__):
            with acting_in(alpha.id):
                assert execute("DELETE FROM {table} WHERE {column} = %s", model, beta.id) == 0
            assert model.objects.filter(**{column_of(model): beta.id}).exists()


def test_row_cannot_be_moved_to_another_workspace(alpha, beta, subtests):
    for model in WRITABLE:
        refused = pytest.raises(ProgrammingError, match="row-level security")
        with subtests.test(model=model.__name__), acting_in(alpha.id), refused:
            execute("UPDATE {table} SET {column} = %s", model, beta.id)


def test_row_cannot_be_written_to_another_workspace(alpha, beta, subtests):
    for model in MODELS:
        with subtests.test(model=model.__name__):
            execute("DROP TABLE IF EXISTS pg_temp.copied", model)
            copy = "CREATE TEMPORARY TABLE copied AS SELECT {columns} FROM {table} WHERE {column} = %s"
            execute(copy, model, beta.id)
            with acting_in(alpha.id), pytest.raises(ProgrammingError, match="row-level security"):
                execute("INSERT INTO {table} ({columns}) SELECT {columns} FROM copied", model)


def test_joins_and_aggregates_see_one_workspace(alpha, beta):
    with acting_in(alpha.id):
        assert Chunk.objects.filter(text__contains="xyzzy").count() == 1
        assert Source.objects.aggregate(n=Count("documents__chunks"))["n"] == 1
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT w.slug FROM people_workspace w JOIN search_document d ON true"
                " JOIN search_chunk c ON true GROUP BY w.slug"
            )
            assert cursor.fetchall() == [("alpha",)]


def test_relations_of_an_object_of_another_workspace_are_invisible(alpha, beta):
    document = Document.objects.get(workspace=beta.id)
    with acting_in(alpha.id):
        assert not document.chunks.exists()
        with pytest.raises(Workspace.DoesNotExist):
            beta.workspace.refresh_from_db()
        with pytest.raises(Document.DoesNotExist):
            document.refresh_from_db()


def test_rows_of_other_workspaces_are_not_locked(alpha, beta):
    with acting_in(alpha.id), transaction.atomic():
        assert [row.pk for row in Workspace.objects.select_for_update()] == [alpha.id]


def test_unique_constraint_sees_all_workspaces(alpha, beta):
    with acting_in(alpha.id), pytest.raises(Exception, match="slug"), transaction.atomic():
        Workspace.objects.filter(pk=alpha.id).update(slug="beta")


def test_deleted_group_deletes_its_own_rows(alpha):
    with acting_in(alpha.id):
        alpha.workspace.groups.all().delete()
    assert not alpha.workspace.groups.exists()
    assert Membership.objects.filter(workspace=alpha.id).exists()


def test_event_without_a_workspace_is_writable_anywhere_and_visible_to_operators_alone(alpha):
    with acting_nowhere():
        AuditEvent.objects.create(actor="mallory@example.org", action="sign_in.failed")
        assert not AuditEvent.objects.exists()
    with acting_in(alpha.id):
        assert not AuditEvent.objects.filter(workspace=None).exists()
    assert AuditEvent.objects.filter(workspace=None).count() == 1


@pytest.mark.parametrize("statement", ["UPDATE {table} SET actor = ''", "DELETE FROM {table}"])
def test_audit_events_cannot_be_changed_or_deleted(statement, alpha):
    with pytest.raises(ProgrammingError, match="permission denied"):
        execute(statement, AuditEvent)
