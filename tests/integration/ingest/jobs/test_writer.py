"""Uploads deleted just before a job writes them stay deleted, and no later upload or change is lost."""

import io
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from ingest.chunking.types import CHUNKER_VERSION
from ingest.jobs.items import writer
from ingest.jobs.items.worker import ItemWorker
from ingest.jobs.items.writer import ItemWriter
from ingest.jobs.kinds import archive
from ingest.jobs.queue.context import Ending
from ingest.jobs.queue.request import request_rechunking, request_sync
from ingest.jobs.queue.run import run_job
from ingest.models import JobItem
from ingest.services.archive_uploads import ArchiveUpload, accept_archive
from ingest.services.uploads import delete_upload, update_document
from kebab.errors import NotFound
from kebab.identity.reader import OPERATOR
from kebab.tenancy.current_workspace import acting_everywhere
from search.corpus.content_ids import content_hash
from search.models import Document, Source
from tests.support.archives import zip_of
from tests.support.concurrency import until_blocked
from tests.support.jobs import PICTURE, Killed, die, expire, fill, indexed_texts, sync, upload, work

FILES = {f"{name}.md": f"# {name}\n" for name in "abc"}
PATHS = {f"docs/{name}" for name in FILES}


@pytest.fixture
def archive_job(workspace):
    """Return the job of an uploaded archive that no worker has started."""
    file = io.BytesIO(zip_of(FILES))
    packed = ArchiveUpload(source="uploads", name="docs.zip", folder="docs", version="", file=file)
    return accept_archive(workspace, packed, reader=OPERATOR, requested_by="")


def upload_file(workspace, path, content=b"# Mine\n"):
    return work(upload(workspace, path, content, version=""))


def delete(workspace, path):
    with transaction.atomic():
        delete_upload(Document.objects.in_workspace(workspace).get(path=path))


def check_that_it_is_dropped(workspace, job, path="docs/b.md"):
    """Assert that the archive's job has succeeded without this member."""
    assert (job.state, job.items_done, job.items_total) == ("succeeded", 3, 3)
    assert set(indexed_texts(workspace)) == PATHS - {path}
    item = JobItem.objects.get(job=job, path=path)
    assert (item.action, item.state, item.outcome) == ("delete", "done", "")


@pytest.fixture
def once_before(monkeypatch):
    """Return a function that registers `act` before the first call of another function."""

    def before(owner, name, act):
        call, acted = getattr(owner, name), []

        def act_and_call(*arguments, **options):
            if not acted:
                acted.append(1)
                act()
            return call(*arguments, **options)

        monkeypatch.setattr(owner, name, act_and_call)

    return before


def test_upload_after_a_deletion_is_not_overwritten_by_an_older_archive(workspace, archive_job, monkeypatch):
    upload_file(workspace, "docs/b.md")
    with monkeypatch.context() as patched:  # its members are listed, and none begun
        patched.setattr(ItemWorker, "run", lambda self: Ending.YIELDED)
        work(archive_job)
    delete(workspace, "docs/b.md")
    upload_file(workspace, "docs/b.md", b"# Newer\n\nuploaded again\n")
    ended = work(archive_job)
    assert (ended.state, ended.items_done) == ("succeeded", 3)
    assert set(indexed_texts(workspace)) == PATHS
    assert "uploaded again" in indexed_texts(workspace)["docs/b.md"][0]


def test_document_deleted_while_its_member_is_parsed_stays_deleted(workspace, archive_job, once_before):
    upload_file(workspace, "docs/b.md")
    once_before(writer, "document_draft", lambda: delete(workspace, "docs/b.md"))
    check_that_it_is_dropped(workspace, work(archive_job))


def test_archive_skips_a_member_deleted_and_uploaded_again(workspace, archive_job, once_before):
    def delete_and_upload():
        delete(workspace, "docs/b.md")
        upload_file(workspace, "docs/b.md", FILES["b.md"].encode())

    for path in FILES:
        upload_file(workspace, f"docs/{path}", FILES[path].encode())
    once_before(ItemWriter, "end_unchanged", delete_and_upload)
    ended = work(archive_job)
    assert (ended.state, ended.items_done, ended.calls) == ("succeeded", 3, 0)
    assert set(indexed_texts(workspace)) == PATHS
    outcomes = dict(JobItem.objects.filter(job=archive_job).values_list("path", "outcome"))
    assert outcomes == {"docs/a.md": "unchanged", "docs/b.md": "", "docs/c.md": "unchanged"}


def test_member_deleted_while_it_is_read_stays_deleted(workspace, archive_job, monkeypatch):
    upload_file(workspace, "docs/b.md")
    read = archive.read_upload

    def vanish(work, blob, stated):
        if blob == content_hash(FILES["b.md"].encode()):
            delete(workspace, "docs/b.md")
            raise OSError(blob)
        return read(work, blob, stated)

    monkeypatch.setattr(archive, "read_upload", vanish)
    check_that_it_is_dropped(workspace, work(archive_job))


@pytest.mark.parametrize("is_begun", [False, True])
def test_document_deleted_before_its_archive_runs_stays_deleted(
    workspace, archive_job, monkeypatch, is_begun
):
    upload_file(workspace, "docs/b.md")
    if is_begun:
        with monkeypatch.context() as patched:
            patched.setattr(archive, "_store_listing", die)
            with pytest.raises(Killed):
                run_job(archive_job.workspace_id, archive_job.pk)
        assert JobItem.objects.filter(job=archive_job).count() == 3
    delete(workspace, "docs/b.md")
    expire(archive_job)
    check_that_it_is_dropped(workspace, work(archive_job))


def test_deletion_of_other_documents_adds_no_item_to_an_archive_job(workspace, archive_job):
    for path in ("docs/other.md", "elsewhere/a.md"):
        upload_file(workspace, path)
        delete(workspace, path)
    ended = work(archive_job)
    assert (ended.items_done, ended.items_total) == (3, 3)
    assert set(indexed_texts(workspace)) == PATHS
    assert set(JobItem.objects.filter(job=archive_job).values_list("path", flat=True)) == PATHS


def test_last_upload_to_a_path_wins_in_any_order_of_work(workspace):
    first, second, third = (
        upload(workspace, "a.md", text, version="") for text in (b"# A\n", b"# B\n", b"# A\n")
    )
    for job in (third, first, second):
        assert work(job).state == "succeeded"
    document = Document.objects.get()
    assert (document.requested_at, document.title) == (third.created_at, "A")


def test_unreadable_upload_does_not_delete_a_later_one(workspace):
    unreadable = upload(workspace, "a.md", PICTURE, version="")
    upload_file(workspace, "a.md")
    work(unreadable)
    assert JobItem.objects.get(job=unreadable).outcome == "skipped"
    assert set(indexed_texts(workspace)) == {"a.md"}


@pytest.mark.parametrize(("step", "content"), [("_end_alike", b"# New\n"), ("_delete_skipped", PICTURE)])
def test_deletion_and_worker_do_not_deadlock(workspace, once_before, step, content):
    upload_file(workspace, "a.md")
    job = upload(workspace, "a.md", content, version="")
    deletions = []

    @acting_everywhere()
    def delete_apart():
        try:
            delete(workspace, "a.md")
        except NotFound as error:
            return error
        finally:
            connection.close()

    def begin_deletion():
        deletions.append(deleter.submit(delete_apart))
        until_blocked()

    once_before(ItemWriter, step, begin_deletion)
    with ThreadPoolExecutor(1) as deleter:
        ended = work(job)
        gone = deletions[0].result()
    assert (ended.is_finished, ended.items_done) == (True, 1)
    assert (gone is None) == (content != PICTURE)
    assert not Document.objects.exists()


def test_worker_that_deletes_locks_the_documents_before_their_items(workspace, source, folder):
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
    assert set(indexed_texts(workspace)) == {"b.md"}


def test_rechunking_leaves_documents_that_a_sync_changes_or_deletes_meanwhile(
    workspace, folder, source, once_before
):
    def change_and_sync():
        (folder / "a.md").unlink()
        fill(folder, {"b.md": "# b\n\nchanged\n"})
        sync(source)

    fill(folder, FILES)
    sync(source)
    documents = Document.objects.in_workspace(workspace)
    documents.update(chunker_version="c1")
    once_before(writer, "document_draft", change_and_sync)
    job = work(request_rechunking(documents.first().version))
    assert (job.state, job.items_done, job.items_total) == ("succeeded", 3, 3)
    assert indexed_texts(workspace) == {"b.md": ["changed"], "c.md": ["# c"]}
    assert set(documents.values_list("chunker_version", flat=True)) == {CHUNKER_VERSION}


def test_change_during_a_sync_is_not_overwritten(workspace, source, folder, once_before):
    fill(folder, {"a.md": "# A\n", "b.md": "# B\n"})
    sync(source)
    fill(folder, {"a.md": "# A\n\nmore words\n", "b.md": "# B\n\nmore words\n"})

    def restate():
        document = Document.objects.get(path="a.md")
        assert (
            work(update_document(document, {"title": "Stated"}, requested_by="").job).counts["updated"] == 1
        )

    once_before(writer, "document_draft", restate)
    report = sync(source)
    assert (report["updated"], report["parser_calls"]) == (2, 2)
    titles = dict(Document.objects.values_list("path", "title"))
    assert (titles, indexed_texts(workspace)["a.md"]) == ({"a.md": "Stated", "b.md": "B"}, ["more words"])


def test_default_trust_changed_during_a_sync_applies(workspace, source, folder, once_before):
    fill(folder, {"a.md": "# A\n"})
    changed = Source.objects.filter(pk=source.pk)
    once_before(writer, "hold_default_trust", lambda: changed.update(default_trust="primary"))
    sync(source)
    assert Document.objects.get().trust_level == "primary"
