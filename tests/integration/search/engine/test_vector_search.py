"""Finding chunks by their vectors. The hash embedder puts texts that share words near each other."""

import logging
import threading
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from django.db import connection, connections, transaction
from psycopg.errors import LockNotAvailable

from kebab.people import deletion
from kebab.people.models import Role, Workspace
from kebab.people.operator import the_operator
from kebab.people.reader import Reader
from kebab.tenancy.owner import owner_connection
from kebab.tenancy.roles import OWNER
from search import wiring
from search.blobs import has_blob, keep_blob
from search.embedders.hashing import HashEmbedder
from search.embedding import query_embedder
from search.models import ChunkVector, EmbeddingSpace
from search.readback import read_back
from search.retrieval.filters import SearchFilters
from search.retrieval.types import Mode
from search.scope import resolve_scope
from search.vectors.fill import count_without_vector
from search.vectors.index import drop_index, ensure_index, index_name
from search.vectors.nearest import QueryPoint, nearest_chunks
from search.vectors.placed import vectors_of
from search.vectors.spaces import ensure_live_space, live_space
from tests.support.actors import make_member, person_client
from tests.support.concurrency import at_once
from tests.support.corpus import make_workspace, write
from tests.support.searching import ask, embed, paths, sync

WORDS = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "zeta",
    "eta",
    "theta",
    "iota",
    "kappa",
    "lambda",
    "mu",
]


def combinations(count):
    return [f"{WORDS[n % 12]} {WORDS[n // 12 % 12]} number{n}" for n in range(count)]


def nearest(workspace, vector, limit):
    scope = resolve_scope(workspace, SearchFilters(), Reader())
    return nearest_chunks(scope, QueryPoint(scope.space, vector), limit=limit)


def test_the_nearest_chunk_comes_first(workspace):
    write(workspace, "near.md", "replication lag of the mirror")
    write(workspace, "far.md", "cooking with butter")
    embed(workspace)
    result = ask(workspace, "mirror replication lag", Mode.VECTOR)
    assert paths(result) == ["near.md", "far.md"]
    assert 1 >= result.hits[0].score > result.hits[1].score >= 0
    assert [hit.retrieval.vector_rank for hit in result.hits] == [1, 2]
    assert {hit.embedding_model for hit in result.hits} == {"hash"}
    assert (result.lexical_total, result.hits[0].retrieval.lexical_rank) == (None, None)


def test_equal_vectors_are_ordered_by_chunk_id(workspace):
    write(workspace, "a.md", *["apple"] * 30)
    embed(workspace)
    ids = [hit.chunk_id for hit in ask(workspace, "apple", Mode.VECTOR, k=30).hits]
    assert ids == sorted(ids)
    assert [hit.chunk_id for hit in ask(workspace, "apple", Mode.VECTOR, k=7).hits] == ids[:7]


def test_a_snippet_is_the_window_with_the_querys_words(workspace):
    write(workspace, "a.md", "Lorem ipsum dolor sit amet. " * 30 + "The replica follows the primary.")
    embed(workspace)
    (hit,) = ask(workspace, "replica", Mode.VECTOR).hits
    assert [hit.snippet[start:end] for start, end in hit.highlights] == ["replica"]


def test_a_workspace_without_vectors_finds_nothing_by_them(workspace):
    write(workspace, "a.md", "apple")
    sync(workspace)
    result = ask(workspace, "apple", Mode.VECTOR)
    assert (result.hits, result.degraded, result.index_version) == ((), (), "vec-none")


def test_chunks_get_found_as_they_get_their_vectors(workspace):
    write(workspace, "a.md", *combinations(10))
    space = embed(workspace, limit=4)
    assert (len(ask(workspace, "alpha", Mode.VECTOR).hits), count_without_vector(space)) == (4, 6)
    embed(workspace)
    assert (len(ask(workspace, "alpha", Mode.VECTOR).hits), count_without_vector(space)) == (10, 0)


def test_vectors_of_a_space_that_is_not_live_are_never_found(workspace):
    write(workspace, "a.md", "apple")
    space = embed(workspace)
    EmbeddingSpace.objects.filter(pk=space.pk).update(state="building")
    assert ask(workspace, "apple", Mode.VECTOR).hits == ()


def test_vectors_of_another_workspace_are_never_found(workspace):
    twin = make_workspace(corpus_id=workspace.corpus_id)
    for each, text in ((workspace, "apple"), (twin, "apple apple")):
        write(each, "a.md", text)
        embed(each)
    (hit,) = ask(workspace, "apple", Mode.VECTOR).hits
    assert hit.snippet == "apple"


def test_without_an_embedder_the_leg_takes_no_part_and_says_so(workspace, set_embedder):
    write(workspace, "a.md", "apple")
    sync(workspace)
    embed(workspace)
    set_embedder("none")
    hybrid, vector = (ask(workspace, "apple", mode) for mode in (Mode.HYBRID, Mode.VECTOR))
    assert (hybrid.degraded, vector.degraded) == (("vector",), ("vector",))
    assert (paths(hybrid), paths(vector)) == (["a.md"], [])
    assert hybrid.hits[0].score == 1.0
    assert hybrid.hits[0].retrieval.vector_rank is None


def test_another_model_than_the_stored_vectors_is_flagged_and_not_compared(workspace):
    write(workspace, "a.md", "apple")
    sync(workspace)
    embed(workspace)
    EmbeddingSpace.objects.update(revision="0")
    for mode in (Mode.HYBRID, Mode.VECTOR):
        result = ask(workspace, "apple", mode)
        assert result.degraded == ("vector",)
        assert any("hash@0" in warning for warning in result.warnings)
    assert ask(workspace, "apple", Mode.LEXICAL).warnings == ()


def test_the_index_version_names_space_and_epoch(workspace):
    write(workspace, "a.md", "apple")
    embed(workspace)
    assert ask(workspace, "apple", Mode.VECTOR).index_version == "vec-hash-1-64@1"
    write(workspace, "b.md", "pear")
    embed(workspace)
    assert ask(workspace, "apple", Mode.VECTOR).index_version == "vec-hash-1-64@2"


def test_two_workers_make_one_live_space(shared_workspace):
    make = partial(ensure_live_space, shared_workspace, HashEmbedder().space)
    assert len({space.pk for space in at_once([make] * 4)}) == 1


@pytest.fixture
def indexed(shared_workspace, settings):
    """400 chunks under an HNSW index; one in fifty is in the rare source."""
    settings.KEBAB_EXACT_SCAN_LIMIT = 100
    texts = combinations(400)
    write(shared_workspace, "common.md", *texts[8:])
    write(shared_workspace, "rare.md", *texts[:8], source="rare")
    space = embed(shared_workspace)
    assert ensure_index(space)
    yield shared_workspace
    drop_index(space)


def test_an_index_is_built_once_a_space_has_grown(indexed, caplog):
    caplog.set_level(logging.INFO)
    space = EmbeddingSpace.objects.get(is_indexed=True)
    assert ensure_index(space)
    assert "HNSW" not in caplog.text


def test_the_index_of_a_space_that_is_small_now_is_dropped(indexed, settings):
    space = EmbeddingSpace.objects.get(is_indexed=True)
    settings.KEBAB_EXACT_SCAN_LIMIT = 440
    assert ensure_index(space)
    settings.KEBAB_EXACT_SCAN_LIMIT = 450
    assert not ensure_index(space)
    assert not EmbeddingSpace.objects.get(pk=space.pk).is_indexed
    assert not _has_index(space)


def _has_index(space):
    return _first("SELECT count(*) FROM pg_class WHERE relname = %s", index_name(space)) > 0


def _first(statement, *values):
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchone()[0]


def test_the_vectors_of_others_are_not_locked_while_a_workspace_with_an_index_is_deleted(
    indexed, monkeypatch
):
    space, seen = EmbeddingSpace.objects.get(is_indexed=True), []

    def look(workspace):
        mine = "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND mode = %s"
        seen.append(_first(mine, "AccessExclusiveLock"))

    monkeypatch.setattr(deletion, "_hooks", [look, *deletion._hooks])  # called last
    deletion.delete_workspace(the_operator(indexed))
    assert seen == [0]
    assert not _has_index(space)


@pytest.mark.parametrize("name", ["drop_all_blobs", "forget_lists", "drop_index_beside"])
def test_what_a_deleted_workspace_can_not_be_rid_of_keeps_nothing_else(
    indexed, blobs, monkeypatch, caplog, name
):
    def is_away(*_):
        raise OSError(111, "the bucket is away")

    space = EmbeddingSpace.objects.get(is_indexed=True)
    blob = keep_blob(indexed.pk, b"a")
    owner = person_client(make_member(indexed, Role.OWNER))
    monkeypatch.setattr(wiring, name, is_away)
    answer = owner.delete(f"/api/v1/workspaces/{indexed.slug}")

    assert (answer.status_code, Workspace.objects.filter(pk=indexed.pk).exists()) == (204, False)
    assert _has_index(space) is (name == "drop_index_beside")
    assert has_blob(indexed.pk, blob) is (name == "drop_all_blobs")
    (said,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert "the bucket is away" in said.getMessage()


def test_a_small_space_has_no_index(workspace, settings):
    settings.KEBAB_EXACT_SCAN_LIMIT = 100
    write(workspace, "a.md", "apple")
    space = embed(workspace)
    assert not ensure_index(space)
    assert live_space(workspace).is_indexed is False


@pytest.mark.parametrize("owner", ["the application's role", "unreachable"])
def test_a_worker_without_the_owner_scans_without_an_index_and_says_so(
    owner, shared_workspace, settings, caplog, monkeypatch
):
    settings.KEBAB_EXACT_SCAN_LIMIT = 100
    write(shared_workspace, "a.md", *combinations(100))
    space = embed(shared_workspace)
    used = connections["default"].settings_dict
    address = used if owner != "unreachable" else {**used, "HOST": "127.0.0.1", "PORT": "1"}
    monkeypatch.setattr(connections[OWNER], "settings_dict", address)

    assert not ensure_index(space)
    assert "scanned without an index; set KEBAB_OWNER_DATABASE_URL" in caplog.text
    assert live_space(shared_workspace).is_indexed is False
    assert nearest(shared_workspace, query_embedder().embed_query("alpha beta"), 10)


def test_a_build_that_is_broken_off_says_why_and_the_next_one_makes_good(indexed, caplog, monkeypatch):
    monkeypatch.setattr("search.vectors.index._OLDER_SNAPSHOTS_MS", 50)
    space = EmbeddingSpace.objects.get(is_indexed=True)
    drop_index(space)
    EmbeddingSpace.objects.update(is_indexed=False)
    space.refresh_from_db()
    with transaction.atomic():
        ChunkVector.objects.update(space=space)  # the build waits for whoever writes vectors
        with pytest.raises(LockNotAvailable):
            ensure_index(space)

    assert "KEBAB_OWNER_DATABASE_URL" not in caplog.text
    assert ensure_index(space)


def test_a_build_waits_for_an_older_snapshot(indexed, monkeypatch):
    monkeypatch.setattr("kebab.tenancy.owner._LOCK_LIMIT_MS", 50)
    space = EmbeddingSpace.objects.get(is_indexed=True)
    drop_index(space)
    EmbeddingSpace.objects.update(is_indexed=False)
    space.refresh_from_db()
    with owner_connection() as reading:
        reading.autocommit = False
        reading.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reading.execute("SELECT count(*) FROM search_chunk")
        ending = threading.Timer(0.5, reading.rollback)
        ending.start()
        assert ensure_index(space)
        ending.join()


def test_an_index_that_a_crash_left_invalid_is_built_again(indexed):
    space = EmbeddingSpace.objects.get(is_indexed=True)
    EmbeddingSpace.objects.update(is_indexed=False)
    space.refresh_from_db()
    with owner_connection() as owner:
        owner.execute(
            "UPDATE pg_index SET indisvalid = false FROM pg_class WHERE oid = indexrelid AND relname = %s",
            [index_name(space)],
        )
    assert ensure_index(space)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indisvalid FROM pg_index JOIN pg_class ON oid = indexrelid WHERE relname = %s",
            [index_name(space)],
        )
        assert cursor.fetchone() == (True,)


def test_the_index_finds_what_the_exact_scan_finds(indexed):
    agreed = best = 0
    for text in combinations(20):
        vector = query_embedder().embed_query(text)
        by_index = nearest(indexed, vector, 10)
        EmbeddingSpace.objects.update(is_indexed=False)
        exactly = nearest(indexed, vector, 10)
        EmbeddingSpace.objects.update(is_indexed=True)
        agreed += sum(near.similarity >= exactly[-1].similarity - 1e-6 for near in by_index)
        assert by_index == sorted(by_index, key=lambda near: (-near.similarity, near.chunk_id))
        best += by_index[0].similarity == pytest.approx(exactly[0].similarity)
    # Its graph is another one each time it is built.
    assert agreed >= 0.9 * 200
    assert best >= 18


def test_the_index_is_what_answers(indexed):
    space = live_space(indexed)
    vector = np.zeros(64, np.float32)
    vector[3] = 1
    nearest(indexed, vector, 5)
    # Each time anew: a plan for all spaces couldn't use the index of one.
    with connection.execute_wrapper(explaining := Explaining()):
        nearest(indexed, vector, 5)
    assert any(f"::halfvec({space.dim})" in sql for sql in explaining.seen)


class Explaining:
    """Notes the statements that are sent."""

    def __init__(self):
        self.seen = []

    def __call__(self, execute, sql, params, many, context):
        self.seen.append(sql)
        return execute(sql, params, many, context)


def test_a_filter_never_shortens_the_list_while_matches_exist(indexed):
    for text in ("kappa number100", "mu", "nothing at all like it"):
        hits = ask(indexed, text, Mode.VECTOR, source=("rare",), k=10).hits
        assert len(hits) == 8
        assert {hit.doc_path for hit in hits} == {"rare.md"}
    assert len(ask(indexed, "kappa", Mode.VECTOR, k=300).hits) == 300


def test_a_scan_that_takes_too_long_is_stopped_alone(shared_workspace, settings):
    write(shared_workspace, "a.md", "apple")
    sync(shared_workspace)
    embed(shared_workspace)
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        usual = cursor.fetchone()
    settings.KEBAB_SEARCH_STATEMENT_LIMIT_MS = 50
    with owner_connection() as owner, owner.transaction():
        owner.execute(f"LOCK TABLE {ChunkVector._meta.db_table} IN ACCESS EXCLUSIVE MODE")
        result = ask(shared_workspace, "apple", Mode.HYBRID)

    assert (paths(result), result.degraded) == (["a.md"], ("vector",))
    # The limit has ended with the statement.
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == usual != ("50ms",)


def test_the_stored_vectors_give_the_similarity_of_any_chunk(indexed):
    scope = resolve_scope(indexed, SearchFilters(), Reader())
    vector = query_embedder().embed_query("apple")
    point = QueryPoint(scope.space, vector)
    found = {near.chunk_id: near.similarity for near in nearest_chunks(scope, point, limit=20)}
    asked = [*found, "0" * 32]
    standing = read_back(scope, asked, QueryPoint(scope.space, vector), asked)
    assert standing.similarities == pytest.approx(found)
    rows = ChunkVector.objects.filter(chunk_id__in=found).values_list("chunk_id", "embedding")
    stored = {id_.hex: pytest.approx(embedding) for id_, embedding in rows}
    assert {id_: place.tolist() for id_, place in vectors_of(standing.places).items()} == stored


@pytest.mark.parametrize("is_indexed", [False, True])
def test_the_vector_leg_brings_along_where_its_candidates_lie(indexed, is_indexed):
    scope = resolve_scope(indexed, SearchFilters(), Reader())
    vector = query_embedder().embed_query("apple")
    space = replace(scope.space, is_indexed=is_indexed)
    nearest = nearest_chunks(scope, QueryPoint(space, vector), limit=20, with_places=True)
    standing = read_back(scope, [], QueryPoint(space, vector))
    assert standing.places == {}
    ids = [near.chunk_id for near in nearest]
    stored = read_back(scope, ids, QueryPoint(space, vector), ids)
    assert {near.chunk_id: near.place for near in nearest} == stored.places
    assert all(near.place is None for near in nearest_chunks(scope, QueryPoint(space, vector), limit=20))


def test_the_vectors_of_the_first_two_hundred_are_read_and_how_near_all_are(indexed):
    scope = resolve_scope(indexed, SearchFilters(), Reader())
    point = QueryPoint(scope.space, query_embedder().embed_query("apple"))
    nearest = nearest_chunks(scope, point, limit=250)
    found = {near.chunk_id: near.similarity for near in nearest}
    standing = read_back(scope, list(found), point, list(found))
    assert standing.places.keys() == set(list(found)[:200])
    assert standing.similarities == pytest.approx(found)
    assert standing.documents.keys() == found.keys()
