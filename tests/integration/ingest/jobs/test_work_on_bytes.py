"""How often the bytes of documents are hashed, and how many there are in memory at once."""

from collections import Counter

import pytest
from django.core.files.storage import FileSystemStorage
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ingest.archive_uploads import ArchiveUpload, accept_archive
from ingest.jobs.batches import batched_by_size
from ingest.uploads import Upload, accept_upload, restate_upload
from kebab.people.reader import OPERATOR
from search import identifiers
from search.models import Document
from tests.support.jobs import fill, sync, upload, work
from tests.unit.ingest.packing import zipped

CONTENT = b"# Alpha\n\nSome text.\n"


@pytest.fixture
def hashed(monkeypatch):
    """Count how often which bytes are hashed."""
    counted = Counter()
    blake3 = identifiers.blake3

    def counting(*content):
        counted.update(content)
        return blake3(*content)

    monkeypatch.setattr(identifiers, "blake3", counting)
    return counted


def packed(workspace, tmp_path, files):
    path = tmp_path / "docs.zip"
    path.write_bytes(zipped(files))
    with path.open("rb") as file:
        archive = ArchiveUpload(source="uploads", name=path.name, folder=None, version="", file=file)
        return accept_archive(workspace, archive, reader=OPERATOR, requested_by="")


def test_the_file_of_a_folder_is_hashed_once(folder, source, hashed):
    fill(folder, {"a.md": CONTENT})
    assert sync(source)["new"] == 1
    assert hashed[CONTENT] == 1


def test_an_upload_is_hashed_once_when_it_comes_and_once_by_its_worker(workspace, hashed):
    asked = Upload(source="uploads", path="a.md", version="", content=CONTENT)
    accepted = accept_upload(workspace, asked, reader=OPERATOR, requested_by="")
    assert hashed[CONTENT] == 1
    work(accepted.job)
    assert hashed[CONTENT] == 2


def test_a_member_is_hashed_once_when_it_is_unpacked_and_once_when_it_is_read(workspace, tmp_path, hashed):
    work(packed(workspace, tmp_path, {"a.md": CONTENT}))
    assert Document.objects.get().path == "a.md"
    assert hashed[CONTENT] == 2


def test_a_document_is_restated_without_its_bytes_being_read(workspace, hashed, monkeypatch):
    work(upload(workspace, "a.md", CONTENT))
    hashed.clear()
    with monkeypatch.context() as patched:
        patched.setattr(FileSystemStorage, "_open", lambda *_: 1 / 0)
        asked = restate_upload(Document.objects.get(), {"title": "Stated"}, requested_by="")
    assert hashed[CONTENT] == 0
    work(asked.job)
    assert Document.objects.get().title == "Stated"


def test_no_member_is_looked_up_again_to_be_read(workspace, tmp_path):
    def looked_up(n_members):
        job = packed(workspace, tmp_path, {f"{n_members}-{n}.md": b"# %d\n" % n for n in range(n_members)})
        with CaptureQueriesContext(
            connection,
        ) as asked:
            assert work(job).counts["new"] == n_members
        statements = [query["sql"] for query in asked.captured_queries]
        return sum("SELECT" in sql and 'FROM "ingest_jobitem"' in sql for sql in statements)

    assert looked_up(12) == looked_up(2)


def test_lists_are_bounded_in_number_and_bytes():
    sizes = [1, 1, 1, 9, 1, 4, 4, 4]
    assert list(batched_by_size(sizes, int, most=3, most_bytes=8)) == [[1, 1, 1], [9], [1, 4, 4], [4]]
    assert list(batched_by_size([], int, most=3, most_bytes=8)) == []
