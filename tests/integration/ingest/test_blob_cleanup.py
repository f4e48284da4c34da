"""Bytes released by one job while another starts to need them are kept."""

import threading
import uuid

import pytest
from django.core.files.storage import FileSystemStorage
from django.db import connection, transaction

from ingest.blob_cleanup import release_blobs
from ingest.connectors.web.page_memory import PageMemory
from ingest.jobs.queue.request import request_sync
from ingest.services.archive_uploads import ArchiveUpload, accept_archive
from ingest.services.uploads import Upload, accept_upload
from kebab.identity.reader import OPERATOR
from kebab.tenancy.current_workspace import acting_everywhere
from search.corpus import ensure_source
from search.corpus.blobs import has_blob, lock_blobs, store_blob
from search.corpus.content_ids import content_hash
from tests.cli.ingest.asking import ask
from tests.support.archives import zip_of
from tests.support.jobs import fill, work

CONTENT = b"# Shared\n\nOne lets go of it, another needs it.\n"
ARCHIVE = zip_of({"a.md": CONTENT})


def upload_it(workspace, folder):
    upload = Upload(source="uploads", path="a.md", version="", content=CONTENT)
    accept_upload(workspace, upload, reader=OPERATOR, requested_by="")


def upload_archive(workspace, folder):
    path = folder / "docs.zip"
    path.write_bytes(ARCHIVE)
    with path.open("rb") as file:
        upload = ArchiveUpload(source="uploads", name=path.name, folder=None, version="", file=file)
        return accept_archive(workspace, upload, reader=OPERATOR, requested_by="")


def unpack_archive(workspace, folder):
    work(upload_archive(workspace, folder))


def upload_by_command(workspace, folder):
    fill(folder, {"a.md": CONTENT})
    ask(workspace, folder / "a.md")


def sync_folder(workspace, folder):
    fill(folder, {"a.md": CONTENT})
    work(request_sync(ensure_source(workspace, "notes", kind="folder", config={"path": str(folder)})))


def read_page(workspace, folder):
    source = ensure_source(workspace, "site", kind="web", config={"url": "https://example.org/"})
    page = {"url": "https://example.org/a.md", "path": "a.md"}
    PageMemory(source, uuid.uuid4()).store("/a.md", CONTENT, known=None, **page)


def has_advisory_lock_waiter():
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        return cursor.fetchone()[0] > 0


@pytest.mark.parametrize(
    ("need", "content"),
    [
        (upload_it, CONTENT),
        (upload_archive, ARCHIVE),
        (unpack_archive, CONTENT),
        (upload_by_command, CONTENT),
        (sync_folder, CONTENT),
        (read_page, CONTENT),
    ],
)
def test_blob_needed_while_it_is_released_is_kept(workspace, folder, monkeypatch, need, content):
    @acting_everywhere()
    def need_it():
        try:
            need(workspace, folder)
        finally:
            connection.close()

    needing = threading.Thread(target=need_it)
    delete = FileSystemStorage.delete

    def delete_late(storage, name):
        if name.endswith(content_hash(content)) and needing.ident is None:
            needing.start()
            while needing.is_alive() and not has_advisory_lock_waiter():
                needing.join(0.01)
        delete(storage, name)

    monkeypatch.setattr(FileSystemStorage, "delete", delete_late)
    assert release_blobs(workspace.pk, [store_blob(workspace.pk, content)]) == 1
    needing.join(60)
    assert not needing.is_alive()
    assert has_blob(workspace.pk, content_hash(content))


def test_locking_blobs_requires_a_transaction(workspace):
    with pytest.raises(transaction.TransactionManagementError):
        lock_blobs(workspace.pk, [content_hash(CONTENT)])
