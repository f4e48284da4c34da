"""Finding chunks by their vectors. The hash embedder puts texts that share words near each other."""

from datetime import timedelta
from functools import partial

from django.db import connection
from django.utils import timezone

from kebab.tenancy.roles import owner_connection
from search.embedders.hash_embedder import HashEmbedder
from search.models import ChunkVector, EmbeddingSpace
from search.retrieval.types import Mode
from search.vectors.backfill import count_without_vector
from search.vectors.spaces import ensure_live_space
from tests.support.concurrency import at_once
from tests.support.corpus import make_workspace, write
from tests.support.search import ask, embed, paths, sync


def test_nearest_chunk_comes_first(workspace):
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
    assert len(ids) == 30
    assert ids == sorted(ids)
    assert [hit.chunk_id for hit in ask(workspace, "apple", Mode.VECTOR, k=7).hits] == ids[:7]


def test_vector_search_finds_chunks_as_soon_as_they_are_embedded(workspace):
    write(workspace, "a.md", *(f"alpha number{n}" for n in range(10)))
    sync(workspace)
    result = ask(workspace, "alpha", Mode.VECTOR)
    assert (result.hits, result.degraded, result.index_version) == ((), (), "vec-none")
    for limit, epoch, found in ((4, 1, 4), (10, 2, 10)):
        space = embed(workspace, limit=limit)
        result = ask(workspace, "alpha", Mode.VECTOR)
        assert (len(result.hits), count_without_vector(space)) == (found, 10 - found)
        assert result.index_version == f"vec-hash-1-64@{epoch}"


def test_vectors_of_another_workspace_or_of_a_space_that_is_not_live_are_never_found(workspace):
    twin = make_workspace(corpus_id=workspace.corpus_id)
    for each, text in ((workspace, "apple"), (twin, "apple apple")):
        write(each, "a.md", text)
        space = embed(each)
    (hit,) = ask(workspace, "apple", Mode.VECTOR).hits
    assert hit.snippet == "apple"
    later = timezone.now() + timedelta(days=1)
    for state in ({"state": "building"}, {"state": "retired", "retire_at": later}):
        EmbeddingSpace.objects.filter(pk=space.pk).update(**state)
        assert ask(twin, "apple", Mode.VECTOR).hits == ()


def test_vector_leg_without_an_embedder_is_skipped_and_named(workspace, set_embedder):
    write(workspace, "a.md", "apple")
    sync(workspace)
    embed(workspace)
    set_embedder("none")
    hybrid, vector = (ask(workspace, "apple", mode) for mode in (Mode.HYBRID, Mode.VECTOR))
    assert (hybrid.degraded, vector.degraded) == (("vector",), ("vector",))
    assert (paths(hybrid), paths(vector)) == (["a.md"], [])
    assert hybrid.hits[0].retrieval.fusion_score == 1.0
    assert hybrid.hits[0].retrieval.vector_rank is None


def test_two_workers_make_one_live_space(shared_workspace):
    make = partial(ensure_live_space, shared_workspace, HashEmbedder().space)
    assert len({space.pk for space in at_once([make] * 4)}) == 1


def test_scan_that_takes_too_long_is_stopped_alone(shared_workspace, settings):
    write(shared_workspace, "a.md", "apple")
    sync(shared_workspace)
    embed(shared_workspace)

    def statement_timeout():
        with connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            return cursor.fetchone()

    usual = statement_timeout()
    settings.KEBAB_SEARCH_STATEMENT_LIMIT_MS = 50
    with owner_connection() as owner, owner.transaction():
        owner.execute(f"LOCK TABLE {ChunkVector._meta.db_table} IN ACCESS EXCLUSIVE MODE")
        result = ask(shared_workspace, "apple", Mode.HYBRID)
    assert (paths(result), result.degraded) == (["a.md"], ("vector",))
    assert statement_timeout() == usual != ("50ms",)  # the limit has ended with the statement
