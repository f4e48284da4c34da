"""Deleting a version takes along its documents and nothing else."""

import pytest
from django.core.files.storage import default_storage

from ingest.jobs import delete_source
from ingest.jobs.request import request_sync, request_version_deletion, retry
from ingest.models import Job, Unreadable
from search import node
from search.blobs import blob_name
from search.corpus import Place, ensure_version, replace_document
from search.identifiers import content_hash
from search.mirror.checksum import postgres_checksum
from search.mirror.sync import sync_mirror
from search.models import Document, Source, SourceVersion
from tests.integration.search.mirror.looking import checksum
from tests.support.corpus import draft
from tests.support.jobs import PICTURE, fill, sync, work


@pytest.fixture
def filled(workspace, folder, source, mirrors):
    fill(folder, {"a.md": "alpha\n", "picture.png": PICTURE})
    sync(source, version="v1")
    fill(folder, {"a.md": "newer\n"})
    sync(source)
    sync(source, version="v2")
    return source


def versions(source):
    return set(SourceVersion.objects.filter(source=source).values_list("tag", flat=True))


def places():
    return set(Document.objects.values_list("version__tag", "path"))


def blob_is_kept(workspace, content):
    return default_storage.exists(blob_name(workspace.pk, content_hash(content)))


def test_a_version_goes_with_its_documents(workspace, filled):
    job = work(request_version_deletion(filled, "v1"))

    assert (job.state, job.items_done, job.items_total) == ("succeeded", 1, 1)
    assert versions(filled) == {"", "v2"}
    assert places() == {("", "a.md"), ("v2", "a.md")}
    assert Unreadable.objects.count() == 2
    assert [blob_is_kept(workspace, text) for text in (b"alpha\n", b"newer\n")] == [False, True]
    assert Source.objects.get(pk=filled.pk).total_snippets == 1


def test_the_mirror_follows(workspace, filled):
    files = node.mirror_files(workspace.pk)
    sync_mirror(files, workspace.pk)
    work(request_version_deletion(filled, "v1"))

    assert not sync_mirror(files, workspace.pk).was_rebuilt
    assert checksum(files) == postgres_checksum(workspace.pk)


def test_a_document_written_at_the_last_moment_goes_too(workspace, filled, monkeypatch):
    late = Place(workspace=workspace, source=filled, version=ensure_version(filled, "v1"), path="late.md")
    delete_row = delete_source._delete_row

    def write_one_more(*arguments):
        replace_document(late, draft("late text"))
        delete_row(*arguments)

    monkeypatch.setattr(delete_source, "_delete_row", write_one_more)
    work(request_version_deletion(filled, "v1"))

    assert {tag for tag, _ in places()} == {"", "v2"}


def test_open_jobs_of_the_version_are_cancelled_and_others_go_on(filled):
    theirs, others = request_sync(filled, version="v1"), request_sync(filled, version="v2")
    request_version_deletion(filled, "v1")

    assert Job.objects.get(pk=theirs.pk).state == "cancelled"
    assert Job.objects.get(pk=others.pk).state == "queued"


def test_a_deletion_that_broke_off_can_be_repeated(filled, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(delete_source, "_delete_row", lambda *_: 1 / 0)
        job = work(request_version_deletion(filled, "v1"))
    assert (job.state, versions(filled)) == ("running", {"", "v1", "v2"})
    Job.objects.filter(pk=job.pk).update(due_at=job.created_at)
    assert work(job).state == "succeeded"
    assert versions(filled) == {"", "v2"}
    assert work(request_version_deletion(filled, "v1")).state == "succeeded"


def test_a_failed_deletion_is_tried_again_as_one(filled):
    job = request_version_deletion(filled, "v1")
    Job.objects.filter(pk=job.pk).update(state="failed", finished_at=job.created_at)
    again = retry(Job.objects.get(pk=job.pk))

    assert (again.kind, again.payload) == ("delete_version", {"version": "v1"})
