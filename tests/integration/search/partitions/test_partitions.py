"""Tables are partitioned and merged again without loss."""

import psycopg
import pytest
from django.db import IntegrityError, connection, connections, models, transaction
from django.db.migrations.loader import MigrationLoader

from kebab.health.server_checks import unprotected_tables
from kebab.tenancy.current_workspace import acting_in, acting_nowhere
from kebab.tenancy.migration_operations import AddIndexBeside
from kebab.tenancy.partitions import conversion
from kebab.tenancy.partitions.definition import TablesBusy
from kebab.tenancy.partitions.layout import table_of
from kebab.tenancy.roles import owner_connection
from search.corpus.partitions import TABLES, table_sizes
from search.corpus.table_statistics import refresh_statistics
from search.models import Change, Chunk, ChunkVector, Document, EmbeddingSpace
from search.retrieval.types import Mode
from search.vectors.index import drop_index_concurrently, ensure_index, index_name
from tests.integration.search.partitions.catalog import describe_table, rows_of
from tests.integration.search.partitions.conftest import cut
from tests.support.corpus import make_workspace, write
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


def test_tables_are_carried_over_and_back(filled_workspaces):
    whole, found = everything(), answers(filled_workspaces)

    assert cut(2)
    assert {each.parts for each in table_sizes()} == {2}
    assert everything() == whole
    assert answers(filled_workspaces) == found
    assert cut(0)
    assert everything() == whole
    assert not execute("SELECT 1 FROM pg_namespace WHERE nspname LIKE 'kebab\\_%%'")


@pytest.mark.slow
def test_number_of_partitions_can_be_changed(filled_workspaces):
    whole, found = everything(), answers(filled_workspaces)
    for parts in (4, 3, 0):
        assert cut(parts)
        assert {each.parts for each in table_sizes()} == {parts}
        assert everything() == whole
        assert answers(filled_workspaces) == found


@pytest.mark.slow
def test_partitioned_tables_are_written_and_mirrored_like_plain_ones(filled_workspaces):
    first, second, _ = filled_workspaces
    last = max(Document.objects.values_list("id", flat=True))
    assert cut(4)
    before = execute("SELECT oid FROM pg_class WHERE relname = 'search_chunk'")
    assert not cut(4)
    assert execute("SELECT oid FROM pg_class WHERE relname = 'search_chunk'") == before

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
    cut(4)
    assert unprotected_tables() == []
    with acting_nowhere():
        assert not Chunk.objects.exists()
    with acting_in(filled_workspaces[1].pk):
        assert {id_ for (id_,) in Chunk.objects.values_list("workspace_id")} == {filled_workspaces[1].pk}
    with owner_connection() as owner:
        leaf = table_of(owner, "search_chunk", filled_workspaces[0].pk)
    with pytest.raises(Exception, match="permission denied for schema"):
        execute(f"TABLE {leaf}")


@pytest.mark.slow
def test_vectors_have_their_index_on_the_leaf(filled_workspaces):
    workspace = filled_workspaces[0]
    cut(4)
    space = EmbeddingSpace.objects.get(workspace=workspace.pk)
    with owner_connection() as owner:
        leaf = table_of(owner, "search_chunkvector", workspace.pk).partition(".")[2]
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
    cut(4)
    assert refresh_statistics() == []
    fresh = make_workspace()
    write(fresh, "long.md", *(f"pear {n} {'plum ' * 60}" for n in range(800)))
    assert any(name.startswith("search_chunk_") for name in refresh_statistics())
    assert refresh_statistics() == []


def break_off_at(step, parts):
    """Partition the tables, and assert that an error at `step` leaves them unchanged."""
    before = everything()
    with pytest.MonkeyPatch.context() as patch, pytest.raises(RuntimeError, match=step):

        def break_off(*_):
            raise RuntimeError(step)

        patch.setattr(conversion, step, break_off)
        cut(parts)
    assert everything() == before
    assert not execute("SELECT 1 FROM pg_namespace WHERE nspname = 'kebab_new'")


def test_failed_partitioning_leaves_the_old_tables(filled_workspaces):
    break_off_at("_swap_tables", 4)


@pytest.mark.slow
def test_partitioning_that_fails_at_any_step_leaves_the_old_tables(filled_workspaces, subtests):
    for parts in (4, 0):
        for step in ("_prepare", "_add_references", "_swap_tables", "_move_leaves"):
            with subtests.test(step=step, parts=parts):
                break_off_at(step, parts)
        assert cut(parts)


@pytest.mark.slow
def test_a_reader_with_an_older_snapshot_sees_the_rows_after_the_move(filled_workspaces):
    given = connection.get_connection_params()
    address = {name: given[name] for name in ("host", "port", "user", "dbname") if name in given}
    with psycopg.connect(**address, options="-c kebab.workspace_id=*") as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT 1")  # from here on it sees what was committed by now
        assert cut(4)
        assert reader.execute("SELECT count(*) FROM search_chunk").fetchone() == (Chunk.objects.count(),)


@pytest.mark.slow
def test_partitioning_without_the_table_locks_changes_nothing(filled_workspaces, monkeypatch):
    monkeypatch.setattr(conversion, "_LOCK_LIMIT_S", 0.0)
    before = everything()
    with transaction.atomic():
        Chunk.objects.filter(workspace=filled_workspaces[0].pk).update(ordinal=1)
        with pytest.raises(TablesBusy, match="changed"):
            cut(4)
        transaction.set_rollback(True)
    assert everything() == before


@pytest.mark.slow
def test_migration_builds_an_index_concurrently_on_every_partition(filled_workspaces):
    cut(3)
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
    cut(2)
    assert len(execute(of_index, "%chunk\\_tried%")) == 3
    run(operation.database_backwards)
    assert execute(of_index, "%chunk\\_tried%") == []
