"""Deletion of a source or a version: its documents, chunks, vectors and bytes, and no others."""

from functools import partial

import pytest

from ingest.jobs.kinds import delete_source
from ingest.jobs.queue.request import request_source_deletion, request_sync, request_version_deletion
from ingest.jobs.queue.schedule import retry
from ingest.models import Job, Unreadable
from search.corpus import DocumentLocation, ensure_source, ensure_version, replace_document
from search.corpus.blobs import has_blob, store_blob
from search.corpus.content_ids import content_hash
from search.mirror import local_mirrors
from search.mirror.sync.checksum import postgres_checksum
from search.mirror.sync.sync import sync_mirror
from search.models import Chunk, ChunkVector, Document, Source, SourceVersion
from tests.integration.search.mirror.inspection import checksum, texts
from tests.support.corpus import draft
from tests.support.jobs import PICTURE, Killed, die, embed, expire, fill, indexed_texts, sync, upload, work


@pytest.fixture
def filled_source(workspace, folder, source, mirrors):
    fill(folder, {"a.md": "alpha\n", "b.md": "beta\n", "picture.png": PICTURE, "shared.md": "shared\n"})
    sync(source)
    work(upload(workspace, "kept.md", b"shared\n"))
    embed(workspace)
    sync_mirror(local_mirrors.mirror_files(workspace.pk), workspace.pk)
    return source


@pytest.fixture
def versioned_source(workspace, folder, source, mirrors):
    """Return a source of three versions; the text of the first differs from the default's and `v2`'s."""
    fill(folder, {"a.md": "alpha\n", "picture.png": PICTURE})
    sync(source, version="v1")
    fill(folder, {"a.md": "newer\n"})
    sync(source)
    sync(source, version="v2")
    sync_mirror(local_mirrors.mirror_files(workspace.pk), workspace.pk)
    return source


def are_kept(workspace, *contents):
    return [has_blob(workspace.pk, content_hash(content)) for content in contents]


def tags(source):
    return set(SourceVersion.objects.filter(source=source).values_list("tag", flat=True))


def check_that_the_mirror_follows(workspace):
    files = local_mirrors.mirror_files(workspace.pk)
    assert not sync_mirror(files, workspace.pk).was_rebuilt
    assert checksum(files) == postgres_checksum(workspace.pk)


def test_deleting_a_source_deletes_its_documents_chunks_vectors_and_bytes(workspace, filled_source):
    job = work(request_source_deletion(filled_source))
    assert (job.state, job.items_done, job.items_total, job.source_id) == ("succeeded", 3, 3, None)
    assert not Source.objects.filter(pk=filled_source.pk).exists()
    assert not SourceVersion.objects.filter(source=filled_source.pk).exists()
    assert not Unreadable.objects.exists()
    assert indexed_texts(workspace) == {"kept.md": ["shared"]}
    assert (Document.objects.count(), Chunk.objects.count(), ChunkVector.objects.count()) == (1, 1, 1)
    assert are_kept(workspace, b"alpha\n", b"beta\n", PICTURE, b"shared\n") == [False, False, False, True]
    check_that_the_mirror_follows(workspace)


def test_deleting_a_version_deletes_only_its_documents_and_bytes(workspace, versioned_source):
    job = work(request_version_deletion(versioned_source, "v1"))

    assert (job.state, job.items_done, job.items_total) == ("succeeded", 1, 1)
    assert tags(versioned_source) == {"", "v2"}
    assert set(Document.objects.values_list("version__tag", "path")) == {("", "a.md"), ("v2", "a.md")}
    assert Unreadable.objects.count() == 2
    assert are_kept(workspace, b"alpha\n", b"newer\n") == [False, True]
    assert Source.objects.get(pk=versioned_source.pk).total_snippets == 1
    check_that_the_mirror_follows(workspace)


@pytest.mark.parametrize(
    ("step", "request_it"),
    [
        ("_delete_source_row", request_source_deletion),
        ("_delete_row", partial(request_version_deletion, tag="v1")),
    ],
)
def test_document_written_at_the_last_moment_is_deleted_too(
    workspace, filled_source, monkeypatch, step, request_it
):
    files, delete = local_mirrors.mirror_files(workspace.pk), getattr(delete_source, step)
    late = DocumentLocation(
        workspace=workspace, source=filled_source, version=ensure_version(filled_source, "v1"), path="late.md"
    )

    def write_one_more(*arguments):
        replace_document(late, draft("late text"))
        sync_mirror(files, workspace.pk)
        delete(*arguments)

    monkeypatch.setattr(delete_source, step, write_one_more)
    assert work(request_it(filled_source)).state == "succeeded"
    assert not Document.objects.filter(path="late.md").exists()
    sync_mirror(files, workspace.pk)
    assert "late.md" not in texts(files)
    assert checksum(files) == postgres_checksum(workspace.pk)


def test_blobs_of_uploads_that_became_no_document_are_deleted_with_their_source(workspace):
    work(upload(workspace, "picture.png", PICTURE))
    work(request_source_deletion(Source.objects.get()))
    assert are_kept(workspace, PICTURE) == [False]


def test_open_jobs_of_what_is_deleted_are_cancelled_and_others_go_on(source):
    first, second = (request_sync(source, version=tag) for tag in ("v1", "v2"))
    ensure_version(source, "v1")
    request_version_deletion(source, "v1")
    assert [Job.objects.get(pk=job.pk).state for job in (first, second)] == ["cancelled", "queued"]
    work(request_source_deletion(source))
    assert work(second).state == "cancelled"


def test_deletion_that_was_killed_is_finished_by_the_next_claim(filled_source, monkeypatch):
    job = request_source_deletion(filled_source)
    with monkeypatch.context() as patched:
        patched.setattr(delete_source, "_BATCH", 1)
        patched.setattr(delete_source, "release_blobs", die)
        with pytest.raises(Killed):
            work(job)
    assert Document.objects.filter(source=filled_source).count() == 2
    expire(job)
    assert work(job).state == "succeeded"
    assert not Source.objects.filter(pk=filled_source.pk).exists()


def test_deletion_of_a_version_that_broke_off_can_be_repeated(versioned_source, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(delete_source, "_delete_row", lambda *_: 1 / 0)
        job = work(request_version_deletion(versioned_source, "v1"))
    assert (job.state, tags(versioned_source)) == ("running", {"", "v1", "v2"})
    expire(job)
    assert work(job).state == "succeeded"
    assert tags(versioned_source) == {"", "v2"}
    assert work(request_version_deletion(versioned_source, "v1")).state == "succeeded"


def test_failed_deletion_of_a_version_is_retried_as_one(source):
    ensure_version(source, "v1")
    job = request_version_deletion(source, "v1")
    Job.objects.filter(pk=job.pk).update(state="failed", finished_at=job.created_at)
    again = retry(Job.objects.get(pk=job.pk))
    assert (again.kind, again.payload) == ("delete_version", {"version": "v1"})


def test_source_created_again_under_its_name_has_the_same_ids(workspace, folder, filled_source):
    before = set(Chunk.objects.values_list("chunk_id", flat=True))
    work(request_source_deletion(filled_source))
    again = ensure_source(workspace, filled_source.key, kind="folder", config={"path": str(folder)})
    assert sync(again)["new"] == 3
    assert set(Chunk.objects.values_list("chunk_id", flat=True)) == before


def test_blob_that_an_open_upload_waits_for_is_not_released(workspace, folder, source):
    fill(folder, {"a.md": "alpha\n"})
    sync(source)
    waiting = upload(workspace, "later.md", b"alpha\n")
    work(request_source_deletion(source))
    assert work(waiting).counts["new"] == 1
    assert store_blob(workspace.pk, b"alpha\n") == Document.objects.get().content_hash


@pytest.mark.parametrize("request_it", [request_source_deletion, partial(request_version_deletion, tag="v1")])
def test_source_deleted_concurrently_is_not_found(workspace, request_it):
    source = ensure_source(workspace, "docs", kind="upload")
    Source.objects.in_workspace(workspace).filter(pk=source.pk).delete()
    with pytest.raises(Source.DoesNotExist):
        request_it(source)
