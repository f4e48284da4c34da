"""Damage of every kind to a workspace's data, and its repair by the checks of `kebab doctor`."""

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

from ingest.jobs.queue.request import request_embedding
from ingest.models import Job
from kebab.identity.models import Workspace
from kebab.people.operator import command_line_access
from kebab.people.workspaces import delete_workspace
from search.corpus.blobs import blob_name, list_blobs, store_blob
from search.corpus.replace import append_changes
from search.engine.cursors import cursor_store
from search.mirror import checks, local_mirrors
from search.mirror.sync.checksum import postgres_checksum
from search.mirror.sync.sync import sync_mirror
from search.models import Change, Chunk, ChunkVector, Document, EmbeddingSpace, Source
from search.vectors.index import ensure_index
from tests.integration.kebab.backup.doctor import assert_repaired, assert_well, results, statuses
from tests.integration.search.mirror.inspection import tampering
from tests.support.concurrency import at_once
from tests.support.corpus import write
from tests.support.jobs import embed, upload, work

OLD_S = 4 * 3_600
ALL = ["mirrors", "change log", "embedding", "vector indexes", "blobs", "jobs", "chunks", "rows", "leftovers"]


def blob_paths(workspace) -> list[Path]:
    names = [blob_name(workspace.pk, name) for some in list_blobs(workspace.pk) for name in some]
    return [Path(default_storage.path(name)) for name in names]


def failed_result(check, **how):
    (found,) = [result for result in results(check, **how) if result.status == "failed"]
    return found


def test_sound_data_passes_every_check_without_an_open_transaction(workspace, monkeypatch):
    held, real = [], checks.check_integrity

    def note_transaction(writer):
        held.append(connection.in_atomic_block)
        real(writer)

    monkeypatch.setattr(checks, "check_integrity", note_transaction)
    assert_well(*ALL, deep=True)
    assert set(held) == {False}

    monkeypatch.setattr("search.mirror.checks._MOST", 0)  # so that no mirror is in the sample
    assert [each.name for each in results("mirrors")] == ["mirrors"]
    assert [each.name for each in results("mirrors", deep=True)] == [f"mirror of {workspace.slug}"]


def test_mirror_with_another_text_is_rebuilt_and_one_in_use_is_left_alone(workspace, monkeypatch):
    monkeypatch.setattr(checks, "_BUSY_S", 0.1)
    files = local_mirrors.mirror_files(workspace.pk)
    generation = files.current()
    with files.write_lock():
        assert statuses("mirrors") == statuses("mirrors", repair=True) == {"warning"}
    assert files.current() == generation
    assert_well("mirrors")
    with tampering(files) as mirror:
        mirror.execute("UPDATE documents SET lang = 'xx'")
    assert_repaired("mirrors")


def test_mirror_is_compared_with_the_state_it_was_synced_to(workspace, monkeypatch):
    generation, numbers = local_mirrors.mirror_files(workspace.pk).current(), count()

    def sum_beside_writes(workspace_id):
        at_once([lambda: write(workspace, f"{next(numbers)}.md", "written meanwhile")])
        return postgres_checksum(workspace_id)

    monkeypatch.setattr(checks, "postgres_checksum", sum_beside_writes)
    assert statuses("mirrors") == statuses("mirrors", repair=True) == {"ok"}
    assert local_mirrors.mirror_files(workspace.pk).current() == generation
    with tampering(local_mirrors.mirror_files(workspace.pk)) as mirror:
        mirror.execute("UPDATE documents SET lang = 'xx'")
    assert statuses("mirrors") == {"failed"}


def test_gap_in_the_change_log_is_closed_without_losing_a_document(workspace):
    for _ in range(4):
        append_changes(workspace.pk, [uuid.uuid4()], "delete")
    Change.objects.in_workspace(workspace).filter(seq=3).delete()
    assert_repaired("change log")
    assert_well("mirrors")
    assert Document.objects.in_workspace(workspace).count() == 1


@pytest.mark.parametrize("head_seq", [1, 90])
def test_head_is_set_to_the_end_of_the_log(workspace, head_seq):
    append_changes(workspace.pk, [uuid.uuid4()], "delete")
    sync_mirror(local_mirrors.mirror_files(workspace.pk), workspace.pk)
    Workspace.objects.filter(pk=workspace.pk).update(head_seq=head_seq)
    assert_repaired("change log")
    assert Workspace.objects.get(pk=workspace.pk).head_seq >= 2
    assert_well("mirrors")
    assert work(upload(workspace, "later.md", b"# Later\n\nText.\n")).state == "succeeded"
    assert_well("change log", "mirrors")


@pytest.mark.parametrize("missing", [ChunkVector, EmbeddingSpace])
def test_missing_vectors_are_requested_again(workspace, missing):
    missing.objects.in_workspace(workspace).delete()
    Job.objects.in_workspace(workspace).filter(kind="embed").delete()
    assert statuses("embedding") == {"warning"}
    assert statuses("embedding", repair=True) == {"repaired"}
    assert work(Job.objects.get(kind="embed")).state == "succeeded"
    assert_well("embedding")


def test_wrong_vectors_are_deleted_and_requested_again(workspace, execute_as_owner, subtests):
    for damage in (
        "UPDATE search_chunkvector SET embed_hash = gen_random_uuid()",  # of an earlier text
        "UPDATE search_chunkvector SET version_id = gen_random_uuid()",
        "UPDATE search_chunkvector SET chunk_id = gen_random_uuid()",
        "UPDATE search_chunkvector SET embedding = '[1,0,0]'::halfvec",
    ):
        with subtests.test(damage=damage):
            execute_as_owner(damage)
            assert statuses("embedding") == {"failed"}
            assert statuses("embedding", repair=True) == {"repaired"}
            embed(workspace)
            assert_well("embedding", "rows")
            vectors, chunks = (each.objects.in_workspace(workspace) for each in (ChunkVector, Chunk))
            assert vectors.count() == chunks.count()


@pytest.fixture
def indexed_space(workspace, settings):
    settings.KEBAB_EXACT_SCAN_LIMIT = 1
    space = EmbeddingSpace.objects.get(workspace=workspace)
    assert ensure_index(space)
    yield space
    delete_workspace(command_line_access(workspace))


_INVALID = "UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass"


def test_missing_or_invalid_index_is_rebuilt(indexed_space, execute_as_owner):
    execute_as_owner(f"DROP INDEX vector_hnsw_{indexed_space.pk}")
    assert_repaired("vector indexes")
    execute_as_owner(_INVALID, f"vector_hnsw_{indexed_space.pk}")
    assert_repaired("vector indexes")
    execute_as_owner(_INVALID, "chunk_by_document")
    assert_repaired("indexes")


def test_index_without_its_space_is_dropped_and_one_that_is_due_is_built(indexed_space, execute_as_owner):
    execute_as_owner(f"ALTER INDEX vector_hnsw_{indexed_space.pk} RENAME TO vector_hnsw_99999999")
    EmbeddingSpace.objects.filter(pk=indexed_space.pk).update(is_indexed=False)
    found = {result.name: result.status.value for result in results("vector indexes")}
    assert found.pop("vector_hnsw_99999999") == "failed"
    assert set(found.values()) == {"warning"}
    assert "repaired" in statuses("vector indexes", repair=True)
    assert_well("vector indexes")


def test_changed_or_missing_bytes_are_reported_and_the_document_stays(workspace):
    (path,) = blob_paths(workspace)
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert "heron.md" in failed_result("blobs", repair=True, deep=True).detail
    assert path.exists()
    path.unlink()
    found = failed_result("blobs", repair=True)
    assert "heron.md" in found.detail
    assert "backup" in found.remedy
    assert Document.objects.in_workspace(workspace).count() == 1


def test_old_unneeded_bytes_are_deleted_and_others_stay(workspace):
    store_blob(workspace.pk, b"left by a killed worker")
    assert_well("blobs")  # whoever wrote them may be about to need them
    for path in blob_paths(workspace):
        os.utime(path, (path.stat().st_mtime - OLD_S,) * 2)
    assert_repaired("blobs")
    assert len(blob_paths(workspace)) == 1


def test_running_job_without_a_lease_and_unread_source_are_repaired(workspace):
    job = request_embedding(workspace.pk)
    Job.objects.filter(pk=job.pk).update(state="running", lease_until=None)
    assert_repaired("jobs")
    assert work(job).state == "succeeded"
    Source.objects.in_workspace(workspace).update(state="indexing")
    assert_repaired("jobs")
    assert Source.objects.in_workspace(workspace).get().state == "indexed"


def test_forgotten_job_is_a_failure_only_where_a_worker_runs(workspace, worker):
    job = request_embedding(workspace.pk)
    Job.objects.exclude(pk=job.pk).update(started_at=Now() - timedelta(hours=1))
    Job.objects.filter(pk=job.pk).update(due_at=Now() - timedelta(minutes=10), hinted_at=Now())
    assert statuses("jobs") == {"failed"}
    heartbeat_at = worker.heartbeat_at
    worker.delete()
    assert statuses("jobs") == {"warning"}
    worker.heartbeat_at = heartbeat_at
    worker.save(force_insert=True)
    assert statuses("jobs", repair=True) == {"repaired"}
    assert work(job).state == "succeeded"
    assert_well("jobs")


def test_derived_rows_without_their_document_are_deleted(workspace, execute_as_owner):
    execute_as_owner("DELETE FROM search_document")
    assert_repaired("rows")
    assert not Chunk.objects.in_workspace(workspace).exists()


def test_documents_without_their_source_are_left_to_a_person(workspace, execute_as_owner):
    execute_as_owner("DELETE FROM search_sourceversion")
    execute_as_owner("DELETE FROM search_source")
    assert statuses("rows", repair=True) >= {"failed"}
    assert Document.objects.in_workspace(workspace).count() == 1


def test_rows_of_a_missing_workspace_are_deleted(workspace, execute_as_owner):
    execute_as_owner("DELETE FROM people_workspace")
    assert "failed" in statuses("rows")
    for _ in range(3):  # rows that hang on others go after them
        statuses("rows", repair=True)
    assert_well("rows")
    assert not Document.objects.exists()


def test_leftovers_of_a_deleted_workspace_are_found_and_removed(workspace, mirrors, blobs):
    gone = uuid.uuid4()
    shutil.copytree(mirrors / str(workspace.pk), mirrors / str(gone))
    shutil.copytree(blobs / str(workspace.pk), blobs / str(gone))
    mark = mirrors / ".cold" / str(uuid.uuid4())  # of a mirror that was dropped before
    mark.parent.mkdir()
    mark.touch()
    cursor_store().store(f"{gone.hex}:somebody", "list", b"what was asked")
    assert_repaired("leftovers")
    assert not (mirrors / str(gone)).exists()
    assert not mark.exists()
    assert not (blobs / str(gone)).exists()
    assert cursor_store().find(f"{gone.hex}:somebody", "list") is None
    assert_well("mirrors", "blobs")
    delete_workspace(command_line_access(workspace))
    assert_well("leftovers", "rows", "blobs")
