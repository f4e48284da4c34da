"""Tables that an earlier version partitioned go on working like whole ones."""

import pytest
from django.db import IntegrityError, connection, connections, models, transaction
from django.db.migrations.loader import MigrationLoader

from kebab.health.server_checks import unprotected_tables
from kebab.tenancy.current_workspace import acting_in, acting_nowhere
from kebab.tenancy.migration_operations import AddIndexBeside
from kebab.tenancy.roles import owner_connection
from search.corpus.table_statistics import refresh_statistics
from search.models import Change, Chunk, ChunkVector, Document, EmbeddingSpace
from search.retrieval.types import Mode
from search.vectors.index import drop_index_concurrently, ensure_index, index_name
from tests.integration.search.partitions.catalog import describe_table, rows_of
from tests.support.corpus import make_workspace, write
from tests.support.partitions import TABLES, partition_tables
from tests.support.search import ask, embed, paths, sync

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


def everything():
    return {table: (describe_table(table), rows_of(table)) for table in TABLES}


def answers(workspaces):
    """Return the hits of all workspaces: of words, and of every mode where vectors are scanned exactly."""
    indexed, *scanned = workspaces
    asked = [(indexed, Mode.LEXICAL), *((workspace, mode) for workspace in scanned for mode in Mode)]
    return [
        [(hit.chunk_id, hit.score) for hit in ask(workspace, "apple number3", mode).hits]
        for workspace, mode in asked
    ]


def execute(statement, *values):
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall()


def leaf_of(workspace, table):
    """Return the partition with a workspace's rows."""
    query = f"SELECT DISTINCT tableoid::regclass::text FROM {table} WHERE workspace_id = %s"  # noqa: S608  # our own
    ((leaf,),) = execute(query, workspace.pk)
    return leaf


def test_partitioned_tables_have_the_same_definitions_rows_and_hits(filled_workspaces):
    whole, found = everything(), answers(filled_workspaces)
    partition_tables(2)
    assert everything() == whole
    assert answers(filled_workspaces) == found


@pytest.mark.slow
def test_partitioned_tables_are_written_and_mirrored_like_plain_ones(filled_workspaces):
    first, second, _ = filled_workspaces
    last = max(Document.objects.values_list("id", flat=True))
    partition_tables(4)
    some = Document.objects.filter(workspace=first.pk)[0]
    with pytest.raises(IntegrityError, match="document_id_once"), transaction.atomic():
        Document.objects.filter(workspace=first.pk).update(doc_id=some.doc_id)
    write(first, "new.md", "a pear")
    assert Document.objects.get(path="new.md").pk > last
    with pytest.raises(IntegrityError), transaction.atomic():
        Chunk.objects.filter(workspace=first.pk).update(document_id=0)
    Document.objects.filter(workspace=first.pk, path="new.md").delete()
    assert not Chunk.objects.filter(workspace=first.pk, text="a pear").exists()

    write(second, "late.md", "a quince")
    sync(second)
    assert paths(ask(second, "quince")) == ["late.md"]
    embed(second)
    assert paths(ask(second, "quince", Mode.VECTOR))[0]
    gone = second.pk
    second.delete()
    for model in (Document, Chunk, ChunkVector, Change):
        assert not model.objects.filter(workspace=gone).exists()
        assert model.objects.filter(workspace=first.pk).exists()


def test_row_level_security_holds_on_partitions_and_leaves_are_inaccessible(filled_workspaces):
    partition_tables(4)
    assert unprotected_tables() == []
    with acting_nowhere():
        assert not Chunk.objects.exists()
    with acting_in(filled_workspaces[1].pk):
        assert {id_ for (id_,) in Chunk.objects.values_list("workspace_id")} == {filled_workspaces[1].pk}
    leaf = leaf_of(filled_workspaces[0], "search_chunk")
    with pytest.raises(Exception, match="permission denied for schema"):
        execute(f"TABLE {leaf}")


@pytest.mark.slow
def test_vectors_have_their_index_on_the_leaf(filled_workspaces):
    workspace = filled_workspaces[0]
    partition_tables(4)
    space = EmbeddingSpace.objects.get(workspace=workspace.pk)
    leaf = leaf_of(workspace, "search_chunkvector").removeprefix("kebab_parts.")
    index = "SELECT tablename, schemaname FROM pg_indexes WHERE indexname = %s"
    assert execute(index, index_name(space)) == [(leaf, "kebab_parts")]

    drop_index_concurrently(space)
    assert execute(index, index_name(space)) == []
    space.refresh_from_db()
    assert ensure_index(space)
    assert execute(index, index_name(space)) == [(leaf, "kebab_parts")]
    assert ask(workspace, "apple number3", Mode.VECTOR).hits

    execute("SELECT kebab_drop_vector_index(%s)", space.pk)  # as a deletion of the workspace does
    assert execute("SELECT 1 FROM pg_class WHERE relname = %s", index_name(space)) == []
    workspace.delete()


@pytest.mark.slow
def test_parts_that_outgrow_their_statistics_are_counted(filled_workspaces):
    partition_tables(4)
    assert refresh_statistics() == []
    fresh = make_workspace()
    write(fresh, "long.md", *(f"pear {n} {'plum ' * 60}" for n in range(800)))
    assert any(name.startswith("search_chunk_") for name in refresh_statistics())
    assert refresh_statistics() == []


@pytest.mark.slow
def test_migration_builds_an_index_concurrently_on_every_partition(filled_workspaces):
    partition_tables(3)
    loader = MigrationLoader(None)
    state = loader.project_state(loader.graph.leaf_nodes("search"))
    operation = AddIndexBeside("chunk", models.Index(fields=("workspace", "ordinal"), name="chunk_tried"))
    after = state.clone()
    operation.state_forwards("search", after)

    def run(build):
        with connections["owner"].schema_editor(atomic=False) as editor:
            build("search", editor, state, after)

    of_index = (
        "SELECT indexrelid::regclass::text, indisvalid FROM pg_index WHERE indexrelid::regclass::text LIKE %s"
    )
    run(operation.database_forwards)
    leaves = [f"kebab_parts.chunk_tried_{number}" for number in range(3)]
    assert sorted(execute(of_index, "%chunk\\_tried%")) == [
        ("chunk_tried", True),
        *((leaf, True) for leaf in leaves),
    ]
    with owner_connection() as owner:  # broken off between two parts
        owner.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'chunk_tried'::regclass")
    run(operation.database_forwards)
    run(operation.database_backwards)
    assert execute(of_index, "%chunk\\_tried%") == []
