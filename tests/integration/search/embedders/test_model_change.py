"""Another model is built beside the live one, goes live, is rolled back, and deleted."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from ingest.jobs.kinds import embed as embedding_work
from ingest.jobs.kinds.embed import switch_when_complete
from ingest.jobs.queue.request import request_embedding
from ingest.models import Job
from ingest.services.embedding_status import embedding_status
from ingest.tasks import end_spaces_task
from kebab.identity.reader import OPERATOR
from search.errors import SpaceConflict
from search.models import ChunkVector, EmbeddingSpace
from search.retrieval.types import Mode
from search.vectors.backfill import count_without_vector
from search.vectors.deletion import delete_expired
from search.vectors.index import index_name
from tests.integration.search.embedders.conftest import FIRST, SECOND
from tests.integration.search.embedders.spaces import (
    build,
    change_embedder,
    dims,
    in_space,
    open_job,
    retire,
    roll_back,
    space_in,
    switch,
)
from tests.support.corpus import make_workspace, write
from tests.support.jobs import embed, work
from tests.support.search import ask, paths, sync


def test_searches_use_the_live_space_until_the_other_is_complete(filled_workspace):
    before = ask(filled_workspace, "pear tree", Mode.VECTOR)
    build(filled_workspace, embedder=SECOND)
    during = ask(filled_workspace, "pear tree", Mode.VECTOR)
    assert (during.index_version, during.hits) == (before.index_version, before.hits)
    assert dims(filled_workspace) == {"live": 64, "building": 512}

    work(open_job())
    filled_workspace.refresh_from_db()
    after = ask(filled_workspace, "pear tree", Mode.VECTOR)
    assert dims(filled_workspace) == {"live": 512, "retired": 64}
    assert "hash-1-512@" in after.index_version
    assert (after.degraded, after.warnings) == ((), ())
    assert after.hits[0].chunk_id == before.hits[0].chunk_id


def test_queries_are_embedded_by_the_live_model_of_their_workspace(filled_workspace):
    other = make_workspace()
    write(other, "b.md", "pear tree")
    sync(other)
    embed(other)
    change_embedder(filled_workspace)
    for workspace, dim in ((filled_workspace, 512), (other, 64), (filled_workspace, 512)):
        result = ask(workspace, "pear tree", Mode.HYBRID)
        assert f"hash-1-{dim}@" in result.index_version
        assert (result.degraded, result.hits[0].retrieval.vector_rank) == ((), 1)


def test_document_written_during_a_build_has_vectors_in_both_spaces(
    filled_workspace, embedded_dims, monkeypatch
):
    monkeypatch.setattr(embedding_work, "_LOOK_S", 0.0)
    build(filled_workspace, embedder=SECOND)
    store, stored = embedding_work._store_batch, []

    def write_more(job_work, space, batch):
        store(job_work, space, batch)
        stored.append(space.dim)
        if stored == [512]:
            write(filled_workspace, "b.md", "cherry")
            request_embedding(filled_workspace.pk)

    monkeypatch.setattr(embedding_work, "_store_batch", write_more)
    assert work(open_job()).state == "succeeded"
    # The chunk that was written meanwhile had its vector in the live space before the build went on.
    assert stored[:2] == [512, 64]
    for space in EmbeddingSpace.objects.in_workspace(filled_workspace):
        assert (count_without_vector(space), in_space(space).count()) == (0, 151)
    assert dims(filled_workspace)["live"] == 512


def test_equal_texts_are_embedded_once_in_each_space(workspace, embedded_dims):
    write(workspace, "a.md", *["same"] * 200)
    write(workspace, "b.md", "same", "different")
    embed(workspace)
    change_embedder(workspace)
    assert embedded_dims == [64, 64, 512, 512]
    write(workspace, "c.md", "same", "different")
    assert embed(workspace).calls == 0
    assert ChunkVector.objects.count() == 2 * 204


def test_space_goes_live_when_it_is_complete_and_not_held(filled_workspace):
    build(filled_workspace, embedder=SECOND, hold=True)
    with pytest.raises(SpaceConflict, match="vector"):
        switch(filled_workspace)
    switch_when_complete(filled_workspace)
    assert dims(filled_workspace) == {"live": 64, "building": 512}
    work(open_job())
    status = embedding_status(filled_workspace, OPERATOR)
    assert (status.live.dim, status.building.coverage) == (64, 1.0)
    assert "reembed switch" in status.building.held
    switch(filled_workspace)
    assert dims(filled_workspace) == {"live": 512, "retired": 64}


def test_index_of_a_large_space_is_built_before_it_goes_live(filled_workspace, settings):
    settings.KEBAB_EXACT_SCAN_LIMIT = 100
    seen = []
    build(filled_workspace, embedder=SECOND)
    job = open_job()
    switched = embedding_work.switch_when_complete

    def look(workspace, **options):
        seen.append(space_in(workspace, "building").is_indexed)
        switched(workspace, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedding_work, "switch_when_complete", look)
        work(job)
    assert seen == [True]
    assert paths(ask(filled_workspace, "pear tree", Mode.VECTOR, k=1)) == ["a.md"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s)", [index_name(space_in(filled_workspace, "live"))])
        assert cursor.fetchone()[0] is not None


def test_rollback_swaps_live_and_retired_spaces(filled_workspace):
    before = ask(filled_workspace, "pear tree", Mode.VECTOR)
    change_embedder(filled_workspace)
    write(filled_workspace, "b.md", "pear cake")
    embed(filled_workspace)
    filled_workspace.refresh_from_db()

    roll_back(filled_workspace)
    filled_workspace.refresh_from_db()
    assert dims(filled_workspace) == {"live": 64, "retired": 512}
    assert filled_workspace.settings["embedder"] == FIRST
    # A space that was live is kept full: nothing is missing in it.
    assert count_without_vector(space_in(filled_workspace, "live")) == 0
    back = ask(filled_workspace, "pear tree", Mode.VECTOR)
    assert (back.hits[0].chunk_id, back.degraded) == (before.hits[0].chunk_id, ())

    roll_back(filled_workspace)
    assert dims(filled_workspace) == {"live": 512, "retired": 64}


def test_rollback_needs_a_switch_its_embedder_and_an_unexpired_space(filled_workspace, embedders):
    with pytest.raises(SpaceConflict, match="go back"):
        roll_back(filled_workspace)
    build(filled_workspace, embedder=SECOND)
    retire(filled_workspace, space_in(filled_workspace, "building").pk)
    with pytest.raises(SpaceConflict, match="go back"):
        roll_back(filled_workspace)
    work(open_job())
    change_embedder(filled_workspace)
    embedders(SECOND)
    with pytest.raises(SpaceConflict, match="KEBAB_EMBEDDERS"):
        roll_back(filled_workspace)
    embedders(FIRST, SECOND)
    EmbeddingSpace.objects.filter(state="retired").update(retire_at=timezone.now())
    with pytest.raises(SpaceConflict, match="go back"):
        roll_back(filled_workspace)
    assert dims(filled_workspace) == {"live": 512, "retired": 64}


def test_retired_space_is_deleted_bit_by_bit_with_its_vectors_and_its_index(
    filled_workspace, settings, monkeypatch
):
    monkeypatch.setattr("search.vectors.deletion._BATCH", 40)
    settings.KEBAB_EXACT_SCAN_LIMIT = 100
    embed(filled_workspace)
    with pytest.raises(SpaceConflict, match="is live"):
        retire(filled_workspace, space_in(filled_workspace, "live").pk)
    change_embedder(filled_workspace)
    old = space_in(filled_workspace, "retired")
    assert old.is_indexed
    retire(filled_workspace, old.pk)
    assert next(delete_expired(old)) == 40
    assert in_space(old).count() == 110
    assert work(open_job()).state == "succeeded"  # takes the deletion up again
    assert dims(filled_workspace) == {"live": 512}
    assert ChunkVector.objects.count() == 150
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s)", [index_name(old)])
        assert cursor.fetchone()[0] is None


def test_a_space_whose_deletion_has_begun_can_be_built_again(filled_workspace, monkeypatch):
    monkeypatch.setattr("search.vectors.deletion._BATCH", 40)
    change_embedder(filled_workspace)
    old = space_in(filled_workspace, "retired")
    retire(filled_workspace, old.pk)
    deleting = delete_expired(old)
    next(deleting)
    assert build(filled_workspace, embedder=FIRST).pk == old.pk
    assert list(deleting) == []
    job = work(open_job())
    assert (job.calls, dims(filled_workspace)) == (40, {"live": 64, "retired": 512})


def test_retired_space_is_deleted_after_seven_days(filled_workspace):
    change_embedder(filled_workspace)
    old = space_in(filled_workspace, "retired")
    kept = old.retire_at - timezone.now()
    assert timedelta(days=6, hours=23) < kept <= timedelta(days=7)
    end_spaces_task()
    assert not Job.objects.filter(state="queued").exists()
    EmbeddingSpace.objects.filter(pk=old.pk).update(retire_at=timezone.now())
    end_spaces_task()
    work(open_job())
    assert dims(filled_workspace) == {"live": 512}


def test_the_status_tells_coverage_rate_and_time_left(filled_workspace, monkeypatch):
    build(filled_workspace, embedder=SECOND)
    seen = []
    store = embedding_work._store_batch

    def look(*arguments):
        store(*arguments)
        seen.append(embedding_status(filled_workspace, OPERATOR))

    monkeypatch.setattr(embedding_work, "_store_batch", look)
    work(open_job())
    assert [each.building.vectors for each in seen] == [64, 128, 150]
    assert [round(each.building.coverage, 2) for each in seen] == [0.43, 0.85, 1.0]
    assert all(each.chunks_per_s > 0 for each in seen)
    assert [each.building.eta_s > 0 for each in seen] == [True, True, False]
    assert {each.live.coverage for each in seen} == {1.0}
    after = embedding_status(filled_workspace, OPERATOR)
    assert (after.building, after.live.dim, after.retired[0].dim) == (None, 512, 64)
    assert (after.embedder, after.allowed) == (FIRST, (FIRST, SECOND, "none"))


def test_interrupted_build_resumes_after_its_last_stored_batch(filled_workspace, embedded_dims, monkeypatch):
    build(filled_workspace, embedder=SECOND)
    store = embedding_work._store_batch

    def store_and_break_off(*arguments):
        store(*arguments)
        monkeypatch.setattr(embedding_work, "_store_batch", store)
        raise SystemExit

    monkeypatch.setattr(embedding_work, "_store_batch", store_and_break_off)
    with pytest.raises(SystemExit):
        work(open_job())
    assert in_space(space_in(filled_workspace, "building")).count() == 64
    assert "hash-1-64@" in ask(filled_workspace, "pear tree", Mode.HYBRID).index_version

    embedded_dims.clear()
    Job.objects.update(lease_until=Now() - timedelta(seconds=1), due_at=Now())
    assert work(open_job()).state == "succeeded"
    assert embedded_dims == [512] * (150 - 64)
    assert dims(filled_workspace) == {"live": 512, "retired": 64}
