"""Deleting a source takes along all that came from it, and nothing else."""

from functools import partial

import pytest
from django.core.files.storage import default_storage

from ingest.jobs import delete_source
from ingest.jobs.request import request_source_deletion, request_sync, request_version_deletion
from ingest.models import Job, Unreadable
from search import node
from search.blobs import blob_name, keep_blob
from search.corpus import Place, ensure_source, ensure_version, replace_document
from search.identifiers import content_hash
from search.mirror.checksum import postgres_checksum
from search.mirror.sync import sync_mirror
from search.models import Chunk, ChunkVector, Document, Source, SourceVersion
from tests.integration.search.mirror.looking import checksum, texts
from tests.support.corpus import draft
from tests.support.jobs import PICTURE, embed, fill, indexed, sync, upload, work


@pytest.fixture
def filled(workspace, folder, source, mirrors):
    fill(folder, {"a.md": "alpha\n", "b.md": "beta\n", "picture.png": PICTURE, "shared.md": "shared\n"})
    sync(source)
    work(upload(workspace, "kept.md", b"shared\n"))
    embed(workspace)
    sync_mirror(node.mirror_files(workspace.pk), workspace.pk)
    return source


def blob_is_kept(workspace, content):
    return default_storage.exists(blob_name(workspace.pk, content_hash(content)))


def test_all_that_came_from_a_source_goes(workspace, filled):
    job = work(request_source_deletion(filled))
    assert (job.state, job.items_done, job.items_total, job.source_id) == ("succeeded", 3, 3, None)
    assert not Source.objects.filter(pk=filled.pk).exists()
    assert not SourceVersion.objects.filter(source=filled.pk).exists()
    assert not Unreadable.objects.exists()
    assert indexed(workspace) == {"kept.md": ["shared"]}
    assert (Document.objects.count(), Chunk.objects.count(), ChunkVector.objects.count()) == (1, 1, 1)
    kept = [blob_is_kept(workspace, text) for text in (b"alpha\n", b"beta\n", PICTURE, b"shared\n")]
    assert kept == [False, False, False, True]


def test_the_mirror_follows_a_deletion(workspace, filled):
    work(request_source_deletion(filled))
    files = node.mirror_files(workspace.pk)
    assert not sync_mirror(files, workspace.pk).was_rebuilt
    assert checksum(files) == postgres_checksum(workspace.pk)


def test_a_document_written_at_the_last_moment_leaves_the_mirror_too(workspace, filled, monkeypatch):
    delete_itself = delete_source._delete_itself
    files = node.mirror_files(workspace.pk)
    late = Place(workspace=workspace, source=filled, version=ensure_version(filled), path="late.md")

    def write_one_more(*arguments):
        replace_document(late, draft("late text"))
        sync_mirror(files, workspace.pk)
        delete_itself(*arguments)

    monkeypatch.setattr(delete_source, "_delete_itself", write_one_more)
    assert work(request_source_deletion(filled)).state == "succeeded"
    sync_mirror(files, workspace.pk)
    assert "late.md" not in texts(files)
    assert checksum(files) == postgres_checksum(workspace.pk)


def test_blobs_of_uploads_that_became_no_document_go_with_their_source(workspace):
    work(upload(workspace, "picture.png", PICTURE))
    work(request_source_deletion(Source.objects.get()))
    assert not blob_is_kept(workspace, PICTURE)


def test_open_jobs_of_the_source_are_cancelled(workspace, filled):
    queued = request_sync(filled)
    work(request_source_deletion(filled))
    assert work(queued).state == "cancelled"


def test_a_deletion_that_was_killed_is_finished_by_the_next(workspace, filled, monkeypatch):
    class Killed(BaseException):
        pass

    def die(*arguments):
        raise Killed

    job = request_source_deletion(filled)
    with monkeypatch.context() as patched:
        patched.setattr(delete_source, "_BATCH", 1)
        patched.setattr(delete_source, "release_blobs", die)
        with pytest.raises(Killed):
            work(job)
    assert Document.objects.filter(source=filled).count() == 2
    Job.objects.filter(pk=job.pk).update(lease_until=job.created_at)
    assert work(job).state == "succeeded"
    assert not Source.objects.filter(pk=filled.pk).exists()


def test_a_source_made_again_under_its_name_has_the_same_ids(workspace, folder, filled):
    before = set(Chunk.objects.values_list("chunk_id", flat=True))
    work(request_source_deletion(filled))
    again = ensure_source(workspace, filled.key, kind="folder", config={"path": str(folder)})
    assert sync(again)["new"] == 3
    assert set(Chunk.objects.values_list("chunk_id", flat=True)) == before


def test_a_blob_that_an_open_upload_waits_for_is_not_released(workspace, folder, source):
    fill(folder, {"a.md": "alpha\n"})
    sync(source)
    waiting = upload(workspace, "later.md", b"alpha\n")
    work(request_source_deletion(source))
    assert work(waiting).counts["new"] == 1
    assert keep_blob(workspace.pk, b"alpha\n") == Document.objects.get().content_hash


@pytest.mark.parametrize("request_it", [request_source_deletion, partial(request_version_deletion, tag="v1")])
def test_a_source_that_is_gone_meanwhile_is_not_found(workspace, request_it):
    source = ensure_source(workspace, "docs", kind="upload")
    Source.objects.in_workspace(workspace).filter(pk=source.pk).delete()

    with pytest.raises(Source.DoesNotExist):
        request_it(source)
