"""Uploads that are deleted while jobs are about to write them: none comes back, no later one is lost."""

import io
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from ingest.archive_uploads import ArchiveUpload, accept_archive
from ingest.jobs import archive, writing
from ingest.jobs.items import ItemWorker
from ingest.jobs.request import request_sync
from ingest.jobs.run import run_job
from ingest.jobs.work import Ending
from ingest.jobs.writing import ItemWriter
from ingest.models import Job, JobItem
from ingest.uploads import delete_upload
from kebab.api.errors import NotFound
from kebab.people.reader import OPERATOR
from kebab.tenancy.acting import acting_everywhere
from search.identifiers import content_hash
from search.models import Document
from tests.support.concurrency import until_blocked
from tests.support.jobs import PICTURE, fill, indexed, sync, upload, work
from tests.unit.ingest.packing import zipped

FILES = {f"{name}.md": f"# {name}\n" for name in "abc"}
PATHS = {f"docs/{name}" for name in FILES}


class Killed(BaseException):
    """Ends a worker as a kill does: nothing of ours catches it."""


@pytest.fixture
def packed(workspace):
    """An archive's job that nobody has begun."""
    file = io.BytesIO(zipped(FILES))
    packed = ArchiveUpload(source="uploads", name="docs.zip", folder="docs", version="", file=file)
    return accept_archive(workspace, packed, reader=OPERATOR, requested_by="")


def put(workspace, path, content=b"# Mine\n"):
    return work(upload(workspace, path, content, version=""))


def delete(workspace, path):
    with transaction.atomic():
        delete_upload(Document.objects.in_workspace(workspace).get(path=path))


def unpack(job, monkeypatch):
    """Have its members listed, and none begun."""
    with monkeypatch.context() as patched:
        patched.setattr(ItemWorker, "run", lambda self: Ending.YIELDED)
        work(job)


def check_that_it_is_dropped(workspace, job, path="docs/b.md"):
    """Hold that the archive's job has ended well, and without this member."""
    assert (job.state, job.items_done, job.items_total) == ("succeeded", 3, 3)
    assert set(indexed(workspace)) == PATHS - {path}
    item = JobItem.objects.get(job=job, path=path)
    assert (item.action, item.state, item.outcome) == ("delete", "done", "")


def test_what_is_uploaded_after_a_deletion_outlives_an_older_archive(workspace, packed, monkeypatch):
    put(workspace, "docs/b.md")
    unpack(packed, monkeypatch)
    delete(workspace, "docs/b.md")
    put(workspace, "docs/b.md", b"# Newer\n\nuploaded again\n")
    ended = work(packed)
    assert (ended.state, ended.items_done) == ("succeeded", 3)
    assert set(indexed(workspace)) == PATHS
    assert "uploaded again" in indexed(workspace)["docs/b.md"][0]


def test_a_document_that_is_deleted_while_its_member_is_parsed_does_not_come_back(
    workspace, packed, monkeypatch
):
    put(workspace, "docs/b.md")
    draft = writing.document_draft
    deleted = []

    def deleted_meanwhile(*arguments, **options):
        if not deleted:
            deleted.append("docs/b.md")
            delete(workspace, "docs/b.md")
        return draft(*arguments, **options)

    monkeypatch.setattr(writing, "document_draft", deleted_meanwhile)
    check_that_it_is_dropped(workspace, work(packed))


def test_a_member_that_was_dropped_and_uploaded_again_as_it_was_is_left_alone(workspace, packed, monkeypatch):
    for path in FILES:
        put(workspace, f"docs/{path}", FILES[path].encode())
    end_unchanged = ItemWriter.end_unchanged
    changed = []

    def deleted_meanwhile(self, begun):
        if not changed:
            changed.append("docs/b.md")
            delete(workspace, "docs/b.md")
            put(workspace, "docs/b.md", FILES["b.md"].encode())
        return end_unchanged(self, begun)

    monkeypatch.setattr(ItemWriter, "end_unchanged", deleted_meanwhile)
    ended = work(packed)
    assert (ended.state, ended.items_done, ended.calls) == ("succeeded", 3, 0)
    assert set(indexed(workspace)) == PATHS
    outcomes = dict(JobItem.objects.filter(job=packed).values_list("path", "outcome"))
    assert outcomes == {"docs/a.md": "unchanged", "docs/b.md": "", "docs/c.md": "unchanged"}


def test_a_member_that_is_dropped_when_it_vanishes_is_left_to_its_deletion(workspace, packed, monkeypatch):
    put(workspace, "docs/b.md")
    read = archive.uploaded

    def vanish(work, blob):
        if blob == content_hash(FILES["b.md"].encode()):
            delete(workspace, "docs/b.md")
            raise OSError(blob)
        return read(work, blob)

    monkeypatch.setattr(archive, "uploaded", vanish)
    check_that_it_is_dropped(workspace, work(packed))


def test_a_deleted_document_does_not_come_back_out_of_an_archive_that_nobody_has_begun(workspace, packed):
    put(workspace, "docs/b.md")
    delete(workspace, "docs/b.md")
    check_that_it_is_dropped(workspace, work(packed))


def test_a_deletion_outlives_a_worker_that_is_killed_while_it_unpacks(workspace, packed, monkeypatch):
    put(workspace, "docs/b.md")

    def die(*_):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(archive, "_note_listing", die)
        with pytest.raises(Killed):
            run_job(packed.workspace_id, packed.pk)
    assert JobItem.objects.filter(job=packed).count() == 3
    delete(workspace, "docs/b.md")
    Job.objects.filter(pk=packed.pk).update(lease_until=Now() - timedelta(seconds=1), due_at=Now())
    check_that_it_is_dropped(workspace, work(packed))


def test_a_deletion_of_what_an_archive_does_not_have_is_no_item_of_it(workspace, packed):
    for path in ("docs/other.md", "elsewhere/a.md"):
        put(workspace, path)
        delete(workspace, path)
    ended = work(packed)
    assert (ended.items_done, ended.items_total) == (3, 3)
    assert set(indexed(workspace)) == PATHS
    assert set(JobItem.objects.filter(job=packed).values_list("path", flat=True)) == PATHS


def test_the_last_upload_to_a_path_counts_in_whatever_order_they_are_worked_off(workspace):
    first, second, third = (
        upload(workspace, "a.md", text, version="") for text in (b"# A\n", b"# B\n", b"# A\n")
    )
    for job in (third, first, second):
        assert work(job).state == "succeeded"
    document = Document.objects.get()
    assert (document.requested_at, document.title) == (third.created_at, "A")


def test_an_upload_that_cannot_be_read_takes_no_later_one_away(workspace):
    unreadable = upload(workspace, "a.md", PICTURE, version="")
    put(workspace, "a.md")
    work(unreadable)
    assert JobItem.objects.get(job=unreadable).outcome == "skipped"
    assert set(indexed(workspace)) == {"a.md"}


@pytest.mark.parametrize(("step", "content"), [("_mark_alike", b"# New\n"), ("_delete_skipped", PICTURE)])
def test_a_deletion_and_a_worker_never_wait_for_each_other(workspace, monkeypatch, step, content):
    put(workspace, "a.md")
    job = upload(workspace, "a.md", content, version="")
    take = getattr(ItemWriter, step)
    deletions = []

    @acting_everywhere()
    def delete_apart():
        try:
            delete(workspace, "a.md")
        except NotFound as error:
            return error
        finally:
            connection.close()

    def deleted_meanwhile(self, *arguments):
        if not deletions:
            deletions.append(deleter.submit(delete_apart))
            until_blocked()
        take(self, *arguments)

    monkeypatch.setattr(ItemWriter, step, deleted_meanwhile)
    with ThreadPoolExecutor(1) as deleter:
        ended = work(job)
        gone = deletions[0].result()
    assert (ended.is_finished, ended.items_done) == (True, 1)
    assert (gone is None) == (content != PICTURE)
    assert not Document.objects.exists()


def test_a_worker_that_deletes_locks_the_documents_before_their_items(workspace, source, folder):
    fill(folder, {"a.md": "# A\n", "b.md": "# B\n"})
    sync(source)
    (folder / "a.md").unlink()
    job = request_sync(source)

    @acting_everywhere()
    def work_apart():
        try:
            return work(job)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as worker:
        with transaction.atomic():
            Document.objects.select_for_update().get(path="a.md")
            ended = worker.submit(work_apart)
            until_blocked()
            assert JobItem.objects.select_for_update(nowait=True).get(job=job).state == "pending"
        assert ended.result().state == "succeeded"
    assert set(indexed(workspace)) == {"b.md"}
