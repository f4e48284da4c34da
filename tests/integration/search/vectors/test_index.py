"""The HNSW index of a space is built, dropped and repaired."""

import logging
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, connections, transaction
from psycopg.errors import LockNotAvailable

from kebab.contributions import contributions
from kebab.identity.models import Role, Workspace
from kebab.identity.reader import Reader
from kebab.people import workspaces
from kebab.people.operator import command_line_access
from kebab.tenancy.current_workspace import acting_everywhere
from kebab.tenancy.roles import OWNER, owner_connection
from search import wiring
from search.access.scope import resolve_scope
from search.corpus.blobs import has_blob, store_blob
from search.embedders.configured import configured_embedder
from search.models import ChunkVector, EmbeddingSpace
from search.retrieval.query.filters import SearchFilters
from search.vectors.index import drop_index, ensure_index, index_name
from search.vectors.nearest import QueryPoint
from search.vectors.spaces import live_space
from tests.integration.search.vectors.comparison import find_nearest
from tests.integration.search.vectors.factories import combinations
from tests.support.actors import make_member, person_client
from tests.support.concurrency import until_blocked
from tests.support.corpus import write
from tests.support.extensions import set_contributions
from tests.support.search import embed


@pytest.fixture
def indexed_space(shared_workspace, settings):
    """Yield a space of 100 vectors under an HNSW index."""
    settings.KEBAB_EXACT_SCAN_LIMIT = 100
    write(shared_workspace, "a.md", *combinations(100))
    space = embed(shared_workspace)
    assert ensure_index(space)
    yield EmbeddingSpace.objects.get(pk=space.pk)
    drop_index(space)


@pytest.fixture
def unindexed_space(indexed_space):
    """Return the space after its index was dropped."""
    drop_index(indexed_space)
    EmbeddingSpace.objects.update(is_indexed=False)
    indexed_space.refresh_from_db()
    return indexed_space


def fetch_one(statement, *values):
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchone()[0]


def has_index(space):
    return fetch_one("SELECT count(*) FROM pg_class WHERE relname = %s", index_name(space)) > 0


def test_index_is_built_once_a_space_has_grown_and_dropped_when_it_is_small(indexed_space, settings, caplog):
    caplog.set_level(logging.INFO)
    assert ensure_index(indexed_space)
    assert "HNSW" not in caplog.text  # it is there already
    settings.KEBAB_EXACT_SCAN_LIMIT = 110
    assert ensure_index(indexed_space)
    settings.KEBAB_EXACT_SCAN_LIMIT = 120
    assert not ensure_index(indexed_space)
    assert not EmbeddingSpace.objects.get(pk=indexed_space.pk).is_indexed
    assert not has_index(indexed_space)
    assert not ensure_index(indexed_space)


def test_deleting_a_workspace_with_an_index_does_not_lock_the_vectors_of_others(indexed_space, monkeypatch):
    seen = []

    def look(workspace):
        mine = "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND mode = %s"
        seen.append(fetch_one(mine, "AccessExclusiveLock"))

    hooks = (look, *contributions("deletion_hooks"))  # the first is called last
    set_contributions(monkeypatch, deletion_hooks=hooks)
    workspaces.delete_workspace(command_line_access(indexed_space.workspace))
    assert seen == [0]
    assert not has_index(indexed_space)


@pytest.mark.parametrize("name", ["delete_all_blobs", "delete_lists", "drop_index_concurrently"])
def test_failing_deletion_hook_does_not_stop_the_others(indexed_space, blobs, monkeypatch, caplog, name):
    def is_away(*_):
        raise OSError(111, "unreachable bucket")

    workspace = indexed_space.workspace
    blob = store_blob(workspace.pk, b"a")
    owner = person_client(make_member(workspace, Role.OWNER))
    monkeypatch.setattr(wiring, name, is_away)
    answer = owner.delete(f"/api/v1/workspaces/{workspace.slug}")
    assert (answer.status_code, Workspace.objects.filter(pk=workspace.pk).exists()) == (204, False)
    assert has_index(indexed_space) is (name == "drop_index_concurrently")
    assert has_blob(workspace.pk, blob) is (name == "delete_all_blobs")
    (logged,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert "unreachable bucket" in logged.getMessage()


@pytest.mark.parametrize("owner", ["the application's role", "unreachable"])
def test_worker_without_the_owner_scans_without_an_index_and_names_the_setting(
    owner, unindexed_space, caplog, monkeypatch
):
    used = connections["default"].settings_dict
    address = used if owner != "unreachable" else {**used, "HOST": "127.0.0.1", "PORT": "1"}
    monkeypatch.setattr(connections[OWNER], "settings_dict", address)
    assert not ensure_index(unindexed_space)
    assert "KEBAB_OWNER_DATABASE_URL" in caplog.text
    assert live_space(unindexed_space.workspace).is_indexed is False
    scope = resolve_scope(unindexed_space.workspace, SearchFilters(), Reader())
    point = QueryPoint(scope.space, configured_embedder().embed_query("alpha beta"))
    assert len(find_nearest(scope, point).ids) == 10
    monkeypatch.undo()


def test_interrupted_index_build_raises_and_the_next_one_succeeds(unindexed_space, caplog, monkeypatch):
    monkeypatch.setattr("search.vectors.index._OLDER_SNAPSHOTS_MS", 50)
    with transaction.atomic():
        ChunkVector.objects.update(space=unindexed_space)  # the build waits for whoever writes vectors
        with pytest.raises(LockNotAvailable):
            ensure_index(unindexed_space)
    assert "KEBAB_OWNER_DATABASE_URL" not in caplog.text
    assert ensure_index(unindexed_space)


def test_build_waits_for_an_older_snapshot(unindexed_space, monkeypatch):
    monkeypatch.setattr("kebab.tenancy.roles._LOCK_LIMIT_MS", 50)
    with owner_connection() as reading, ThreadPoolExecutor(1) as thread:
        reading.autocommit = False
        reading.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reading.execute("SELECT count(*) FROM search_chunk")

        @acting_everywhere()
        def end_once_waited_for():
            try:
                until_blocked()
            finally:
                reading.rollback()
                connection.close()

        ending = thread.submit(end_once_waited_for)
        assert ensure_index(unindexed_space)
        ending.result()


def test_index_that_a_crash_left_invalid_is_built_again(indexed_space):
    EmbeddingSpace.objects.update(is_indexed=False)
    indexed_space.refresh_from_db()
    with owner_connection() as owner:
        owner.execute(
            "UPDATE pg_index SET indisvalid = false FROM pg_class WHERE oid = indexrelid AND relname = %s",
            [index_name(indexed_space)],
        )
    assert ensure_index(indexed_space)
    valid = "SELECT indisvalid FROM pg_index JOIN pg_class ON oid = indexrelid WHERE relname = %s"
    assert fetch_one(valid, index_name(indexed_space))
