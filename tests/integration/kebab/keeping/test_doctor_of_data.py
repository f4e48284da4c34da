"""Each thing that can be broken in the data is found by its check, and mended where it can be made again."""

import os
import shutil
import uuid
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.db import connection
from django.db.models.functions import Now

from ingest.jobs.request import request_embedding
from ingest.models import Job
from kebab.people.deletion import delete_workspace
from kebab.people.models import Workspace
from kebab.people.operator import the_operator
from search import checks, node
from search.blobs import blob_name, keep_blob, list_blobs
from search.changelog import append_changes
from search.cursor_store import cursor_store
from search.mirror.checksum import postgres_checksum
from search.mirror.sync import sync_mirror
from search.models import Change, Chunk, ChunkVector, Document, EmbeddingSpace, Source
from search.vectors.index import ensure_index
from tests.integration.kebab.keeping.diagnosing import assert_mended, assert_well, results, statuses
from tests.integration.search.mirror.looking import tampering
from tests.support.concurrency import at_once
from tests.support.corpus import write
from tests.support.jobs import embed, upload, work

OLD_S = 4 * 3_600


def blob_paths(workspace) -> list[Path]:
    names = [blob_name(workspace.pk, name) for some in list_blobs(workspace.pk) for name in some]
    return [Path(default_storage.path(name)) for name in names]


def test_what_is_whole_is_found_to_be_well(workspace):
    assert_well(
        "mirrors",
        "change log",
        "embedding",
        "vector indexes",
        "blobs",
        "jobs",
        "rows",
        "leftovers",
        deep=True,
    )


def test_a_mirror_with_another_text_is_built_anew(workspace):
    with tampering(node.mirror_files(workspace.pk)) as mirror:
        mirror.execute("UPDATE documents SET lang = 'xx'")
    assert_mended("mirrors")


def test_a_mirror_is_compared_with_what_it_was_synced_to_whatever_is_written_meanwhile(
    workspace, monkeypatch
):
    generation, numbers = node.mirror_files(workspace.pk).current(), count()

    def sum_beside_writes(workspace_id):
        at_once([lambda: write(workspace, f"{next(numbers)}.md", "written meanwhile")])
        return postgres_checksum(workspace_id)

    monkeypatch.setattr(checks, "postgres_checksum", sum_beside_writes)
    assert statuses("mirrors") == statuses("mirrors", repair=True) == {"ok"}
    assert node.mirror_files(workspace.pk).current() == generation
    with tampering(node.mirror_files(workspace.pk)) as mirror:
        mirror.execute("UPDATE documents SET lang = 'xx'")
    assert statuses("mirrors") == {"failed"}


def test_nothing_of_postgres_is_held_while_a_mirror_is_looked_at(workspace, monkeypatch):
    held, real = [], checks.check_integrity

    def noted(writer):
        held.append(connection.in_atomic_block)
        real(writer)

    monkeypatch.setattr(checks, "check_integrity", noted)
    assert statuses("mirrors") == {"ok"}
    assert held == [False]


def test_a_mirror_that_another_process_writes_is_neither_wrong_nor_built_anew(workspace, monkeypatch):
    monkeypatch.setattr(checks, "_BUSY_S", 0.1)
    files = node.mirror_files(workspace.pk)
    generation = files.current()
    with files.writing():
        assert statuses("mirrors") == statuses("mirrors", repair=True) == {"warning"}
    assert files.current() == generation
    assert_well("mirrors")


def test_a_hole_in_the_log_is_closed_without_losing_a_document(workspace):
    for _ in range(4):
        append_changes(workspace.pk, [uuid.uuid4()], "delete")
    Change.objects.in_workspace(workspace).filter(seq=3).delete()
    assert_mended("change log")
    assert_well("mirrors")
    assert Document.objects.in_workspace(workspace).count() == 1


@pytest.mark.parametrize("head_seq", [1, 90])
def test_a_head_that_is_not_the_logs_end_is_set_right(workspace, head_seq):
    append_changes(workspace.pk, [uuid.uuid4()], "delete")
    sync_mirror(node.mirror_files(workspace.pk), workspace.pk)
    Workspace.objects.filter(pk=workspace.pk).update(head_seq=head_seq)
    assert_mended("change log")
    assert Workspace.objects.get(pk=workspace.pk).head_seq >= 2
    assert_well("mirrors")
    assert work(upload(workspace, "later.md", b"# Later\n\nText.\n")).state == "succeeded"
    assert_well("change log", "mirrors")


def test_missing_vectors_are_asked_for_again(workspace):
    ChunkVector.objects.in_workspace(workspace).delete()
    Job.objects.in_workspace(workspace).filter(kind="embed").delete()
    assert statuses("embedding") == {"warning"}
    assert statuses("embedding", repair=True) == {"repaired"}
    assert work(Job.objects.get(kind="embed")).state == "succeeded"
    assert_well("embedding")


def test_a_workspace_that_never_had_a_vector_is_told_and_gets_them(workspace):
    EmbeddingSpace.objects.in_workspace(workspace).delete()
    Job.objects.in_workspace(workspace).filter(kind="embed").delete()
    assert statuses("embedding") == {"warning"}
    assert statuses("embedding", repair=True) == {"repaired"}
    assert work(Job.objects.get(kind="embed")).state == "succeeded"
    assert_well("embedding")


def stale(workspace, execute):
    ChunkVector.objects.in_workspace(workspace).update(embed_hash=uuid.uuid4())


def of_another_version(workspace, execute):
    ChunkVector.objects.in_workspace(workspace).update(version_id=uuid.uuid4())


def orphaned(workspace, execute):
    execute("UPDATE search_chunkvector SET chunk_id = gen_random_uuid()")


def too_short(workspace, execute):
    execute("UPDATE search_chunkvector SET embedding = '[1,0,0]'::halfvec")


@pytest.mark.parametrize("damage", [stale, of_another_version, orphaned, too_short])
def test_wrong_vectors_are_dropped_and_made_again(workspace, past_the_walls, damage):
    damage(workspace, past_the_walls)
    assert statuses("embedding") == {"failed"}
    assert statuses("embedding", repair=True) == {"repaired"}
    embed(workspace)
    assert_well("embedding", "rows")
    assert (
        ChunkVector.objects.in_workspace(workspace).count() == Chunk.objects.in_workspace(workspace).count()
    )


@pytest.fixture
def indexed(workspace, settings):
    settings.KEBAB_EXACT_SCAN_LIMIT = 1
    space = EmbeddingSpace.objects.get(workspace=workspace)
    assert ensure_index(space)
    yield space
    delete_workspace(the_operator(workspace))


def test_a_dropped_vector_index_is_built_again(indexed, past_the_walls):
    past_the_walls(f"DROP INDEX vector_hnsw_{indexed.pk}")
    assert_mended("vector indexes")


def test_a_vector_index_that_was_left_half_built_is_built_again(indexed, past_the_walls):
    past_the_walls(
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", f"vector_hnsw_{indexed.pk}"
    )
    assert_mended("vector indexes")


def test_a_vector_index_whose_space_is_gone_is_dropped(indexed, past_the_walls):
    past_the_walls(f"ALTER INDEX vector_hnsw_{indexed.pk} RENAME TO vector_hnsw_99999999")
    EmbeddingSpace.objects.filter(pk=indexed.pk).update(is_indexed=False)
    found = {result.name: result.status.value for result in results("vector indexes")}
    assert found["vector_hnsw_99999999"] == "failed"
    assert "repaired" in statuses("vector indexes", repair=True)
    assert_well("vector indexes")


def test_an_index_that_is_due_is_built(workspace, settings):
    settings.KEBAB_EXACT_SCAN_LIMIT = 1
    assert_mended("vector indexes", bad="warning")
    delete_workspace(the_operator(workspace))


def test_an_index_that_can_not_be_used_is_built_again(workspace, past_the_walls):
    past_the_walls("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'chunk_by_document'::regclass")
    assert_mended("indexes")


def test_a_document_without_its_bytes_is_named_and_stays(workspace):
    blob_paths(workspace)[0].unlink()
    (found,) = [result for result in results("blobs", repair=True) if result.status == "failed"]
    assert "heron.md" in found.detail
    assert "backup" in found.remedy
    assert Document.objects.in_workspace(workspace).count() == 1


def test_bytes_that_have_changed_on_the_disk_are_found_and_stay(workspace):
    path = blob_paths(workspace)[0]
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    (found,) = [result for result in results("blobs", repair=True, deep=True) if result.status == "failed"]
    assert "heron.md" in found.detail
    assert path.exists()


def test_bytes_that_nothing_needs_go_with_a_repair_and_others_stay(workspace):
    keep_blob(workspace.pk, b"left by a killed worker")
    assert_well("blobs")  # whoever wrote them may be about to need them
    for path in blob_paths(workspace):
        os.utime(path, (path.stat().st_mtime - OLD_S,) * 2)
    assert_mended("blobs")
    assert len(blob_paths(workspace)) == 1


def test_a_running_job_without_a_lease_is_taken_up_again(workspace):
    job = request_embedding(workspace.pk)
    Job.objects.filter(pk=job.pk).update(state="running", lease_until=None)
    assert_mended("jobs")
    assert work(job).state == "succeeded"


def test_a_job_that_nobody_works_on_is_told_and_hinted_at_again(workspace, worker):
    job = request_embedding(workspace.pk)
    Job.objects.exclude(pk=job.pk).update(started_at=Now() - timedelta(hours=1))
    Job.objects.filter(pk=job.pk).update(due_at=Now() - timedelta(minutes=10), hinted_at=Now())
    assert statuses("jobs") == {"failed"}
    assert statuses("jobs", repair=True) == {"repaired"}
    assert work(job).state == "succeeded"
    assert_well("jobs")


def test_a_job_that_waits_for_a_worker_while_none_runs_is_no_damage(workspace):
    job = request_embedding(workspace.pk)
    Job.objects.exclude(pk=job.pk).update(started_at=Now() - timedelta(hours=1))
    Job.objects.filter(pk=job.pk).update(due_at=Now() - timedelta(minutes=10))
    assert statuses("jobs") == {"warning"}


def test_a_source_that_nobody_reads_any_more_says_so(workspace):
    Source.objects.in_workspace(workspace).update(state="indexing")
    assert_mended("jobs")
    assert Source.objects.in_workspace(workspace).get().state == "indexed"


def test_derived_rows_without_their_document_go(workspace, past_the_walls):
    past_the_walls("DELETE FROM search_document")
    assert_mended("rows")
    assert not Chunk.objects.in_workspace(workspace).exists()


def test_documents_without_their_source_are_left_to_a_person(workspace, past_the_walls):
    past_the_walls("DELETE FROM search_sourceversion")
    past_the_walls("DELETE FROM search_source")
    assert statuses("rows", repair=True) >= {"failed"}
    assert Document.objects.in_workspace(workspace).count() == 1


def test_rows_of_a_workspace_that_is_gone_go(workspace, past_the_walls):
    past_the_walls("DELETE FROM people_workspace")
    assert "failed" in statuses("rows")
    for _ in range(3):  # what hangs on a row goes after it
        statuses("rows", repair=True)
    assert_well("rows")
    assert not Document.objects.exists()


def test_what_a_deleted_workspace_left_is_found_and_removed(workspace, mirrors, blobs):
    gone = uuid.uuid4()
    shutil.copytree(mirrors / str(workspace.pk), mirrors / str(gone))
    shutil.copytree(blobs / str(workspace.pk), blobs / str(gone))
    mark = mirrors / ".cold" / str(uuid.uuid4())  # of a mirror that was dropped before
    mark.parent.mkdir()
    mark.touch()
    cursor_store().keep(f"{gone.hex}:somebody", "list", b"what was asked")
    assert_mended("leftovers")
    assert not (mirrors / str(gone)).exists()
    assert not mark.exists()
    assert not (blobs / str(gone)).exists()
    assert cursor_store().find(f"{gone.hex}:somebody", "list") is None
    assert_well("mirrors", "blobs")


def test_a_deleted_workspace_leaves_nothing(workspace):
    delete_workspace(the_operator(workspace))
    assert_well("leftovers", "rows", "blobs")


def test_of_many_mirrors_a_sample_is_compared_and_with_deep_all(workspace, mirrors, monkeypatch):
    monkeypatch.setattr("search.checks._MOST", 0)
    assert [each.name for each in results("mirrors")] == ["mirrors"]
    assert [each.name for each in results("mirrors", deep=True)] == [f"mirror of {workspace.slug}"]
