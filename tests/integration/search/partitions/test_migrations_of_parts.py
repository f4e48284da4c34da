"""Partitioned tables migrate like whole ones, by any operation and by all present migrations."""

import pytest
from django.core.management import call_command
from django.db import connections, models
from django.db.migrations import AddConstraint, AddField, AddIndex, RemoveField, RunSQL
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState

from kebab.tenancy.roles import OWNER, grant_truncate
from search.models import Document
from search.retrieval.types import Mode
from tests.integration.search.partitions.catalog import describe_table, rows_of
from tests.support.partitions import TABLES, partition_count, partition_tables
from tests.support.search import ask

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True, databases=["default", "owner"])]

# Before row-level security, generated titles, evaluation, kept answers.
EARLIER = ("search", "0010_source_readers")
OPERATIONS = [
    AddField("chunk", "weight", models.FloatField(default=1.5)),
    AddField("chunk", "remark", models.TextField(null=True)),
    AddIndex("chunk", models.Index(fields=["workspace", "weight"], name="chunk_by_weight")),
    AddConstraint("chunk", models.CheckConstraint(condition=models.Q(weight__gt=0), name="chunk_weighs")),
    AddConstraint(
        "chunk", models.UniqueConstraint(fields=["workspace", "chunk_id", "weight"], name="chunk_w")
    ),
    RunSQL("UPDATE search_chunk SET remark = 'seen'", "UPDATE search_chunk SET remark = NULL"),
    RemoveField("chunk", "remark"),
]


def migrate_forward():
    """Migrate, and let new tables be emptied between tests like all others."""
    call_command("migrate", verbosity=0)
    grant_truncate()


def migrate_back():
    """Migrate to a state among those that new installations skip."""
    executor = MigrationExecutor(connections[OWNER])
    executor.loader = MigrationLoader(connections[OWNER], replace_migrations=False)
    executor.migrate([EARLIER])


def apply(operations):
    """Apply operations to the models, one after the other; yield each with the states before and after."""
    executor = MigrationExecutor(connections[OWNER])
    states = [executor.loader.project_state()]
    for operation in operations:
        after = states[-1].clone()
        operation.state_forwards("search", after)
        states.append(after)
    steps = list(zip(operations, states, states[1:], strict=False))
    for operation, before, after in steps:
        _do(operation.database_forwards, before, after)
    return steps


def _do(move, before: ProjectState, after: ProjectState) -> None:
    with connections[OWNER].schema_editor() as editor:
        move("search", editor, before, after)


def test_columns_indexes_and_constraints_are_added_and_taken_back(filled_workspaces):
    partition_tables(4)
    before = {table: (describe_table(table), rows_of(table)) for table in TABLES}
    steps = apply(OPERATIONS)
    found = describe_table("search_chunk")
    assert {"chunk_weighs", "chunk_w"} <= {row[0] for row in found["constraints"]}
    assert "chunk_by_weight" in {row[0] for row in found["indexes"]}
    assert "weight" in {row[0] for row in found["columns"]}
    partition_tables(2)
    assert describe_table("search_chunk")["indexes"] == found["indexes"]

    for operation, state, after in reversed(steps):
        _do(operation.database_backwards, after, state)
    assert {table: (describe_table(table), rows_of(table)) for table in TABLES}.keys() == before.keys()
    assert describe_table("search_chunk")["indexes"] == before["search_chunk"][0]["indexes"]
    assert describe_table("search_chunk")["constraints"] == before["search_chunk"][0]["constraints"]


def test_migrations_run_backwards_and_forwards_on_partitions(filled_workspaces):
    workspace = filled_workspaces[1]
    found = [hit.chunk_id for hit in ask(workspace, "apple number3", Mode.HYBRID).hits]
    whole = {table: describe_table(table) for table in TABLES}
    documents = Document.objects.count()
    partition_tables(4)
    try:
        migrate_back()
    finally:
        migrate_forward()
    assert partition_count() == 4
    assert Document.objects.count() == documents
    assert [hit.chunk_id for hit in ask(workspace, "apple number3", Mode.HYBRID).hits] == found
    partition_tables(0)
    # Columns that were taken away and added again come last.
    assert {table: _without_columns(describe_table(table)) for table in TABLES} == {
        table: _without_columns(each) for table, each in whole.items()
    }


def _without_columns(description):
    return {name: rows for name, rows in description.items() if name != "columns"}
