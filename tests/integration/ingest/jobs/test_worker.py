"""Items of jobs are looked up, hashed, parsed, stored and embedded no more often than needed."""

from collections import Counter

import pytest
from django.core.files.storage import FileSystemStorage
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ingest.connectors.web.page_memory import PageMemory
from ingest.jobs.items import quarantine, worker
from ingest.jobs.items.batches import batch_by_size
from ingest.jobs.kinds import record_sync
from ingest.models import Unreadable
from ingest.parsers import registry
from ingest.parsers.registry import WITH_OCR, parser_version_for
from ingest.services.archive_uploads import ArchiveUpload, accept_archive
from ingest.services.uploads import Upload, accept_upload, update_document
from kebab.identity.reader import OPERATOR
from search.corpus import content_ids, ensure_source, ensure_version
from search.models import ChunkVector, Document
from tests.support.api import quarantine as set_aside
from tests.support.archives import zip_of
from tests.support.jobs import counts, drop_embedding_jobs, embed, fill, indexed_texts, sync, upload, work
from tests.support.samples import content_of

CONTENT = b"# Alpha\n\nSome text.\n"


@pytest.fixture
def hash_counts(monkeypatch):
    """Count the hash computations by content."""
    counted = Counter()
    blake3 = content_ids.blake3

    def counting(*content):
        counted.update(content)
        return blake3(*content)

    monkeypatch.setattr(content_ids, "blake3", counting)
    return counted


def upload_zip(workspace, tmp_path, files):
    path = tmp_path / "docs.zip"
    path.write_bytes(zip_of(files))
    with path.open("rb") as file:
        archive = ArchiveUpload(source="uploads", name=path.name, folder=None, version="", file=file)
        return accept_archive(workspace, archive, reader=OPERATOR, requested_by="")


def test_file_of_a_folder_is_hashed_once(folder, source, hash_counts):
    fill(folder, {"a.md": CONTENT})
    assert sync(source)["new"] == 1
    assert hash_counts[CONTENT] == 1


def test_upload_is_hashed_once_when_it_comes_and_once_by_its_worker(workspace, hash_counts):
    asked = Upload(source="uploads", path="a.md", version="", content=CONTENT)
    accepted = accept_upload(workspace, asked, reader=OPERATOR, requested_by="")
    assert hash_counts[CONTENT] == 1
    work(accepted.job)
    assert hash_counts[CONTENT] == 2


def test_member_is_hashed_once_when_it_is_unpacked_and_once_when_it_is_read(workspace, tmp_path, hash_counts):
    work(upload_zip(workspace, tmp_path, {"a.md": CONTENT}))
    assert Document.objects.get().path == "a.md"
    assert hash_counts[CONTENT] == 2


def test_document_is_restated_without_its_bytes_being_read(workspace, hash_counts, monkeypatch):
    work(upload(workspace, "a.md", CONTENT))
    hash_counts.clear()
    with monkeypatch.context() as patched:
        patched.setattr(FileSystemStorage, "_open", lambda *_: 1 / 0)
        asked = update_document(Document.objects.get(), {"title": "Stated"}, requested_by="")
    assert hash_counts[CONTENT] == 0
    work(asked.job)
    assert Document.objects.get().title == "Stated"


def test_archive_members_are_read_without_a_query_each(workspace, tmp_path):
    def count_item_queries(n_members):
        job = upload_zip(
            workspace, tmp_path, {f"{n_members}-{n}.md": b"# %d\n" % n for n in range(n_members)}
        )
        with CaptureQueriesContext(connection) as asked:
            assert work(job).counts["new"] == n_members
        statements = [query["sql"] for query in asked.captured_queries]
        return sum("SELECT" in sql and 'FROM "ingest_jobitem"' in sql for sql in statements)

    assert count_item_queries(12) == count_item_queries(2)


def test_batches_are_bounded_in_number_and_bytes():
    sizes = [1, 1, 1, 9, 1, 4, 4, 4]
    assert list(batch_by_size(sizes, int, most=3, most_bytes=8)) == [[1, 1, 1], [9], [1, 4, 4], [4]]
    assert list(batch_by_size([], int, most=3, most_bytes=8)) == []


@pytest.fixture
def count_calls(monkeypatch):
    """Return a function that records the result sizes of another function's calls."""
    counted = Counter()

    def count(owner, name, size=lambda result: 1):
        call = getattr(owner, name)

        def counting(*arguments, **named):
            result = call(*arguments, **named)
            counted[name] += size(result)
            return result

        monkeypatch.setattr(owner, name, counting)
        return counted

    return count


def test_sync_of_named_paths_looks_up_only_those_files(folder, source, count_calls):
    fill(folder, {f"{name}.md": f"# {name}\n" for name in "abcd"})
    sync(source)
    (folder / "b.md").unlink()
    counted = count_calls(record_sync, "IndexedFile")
    assert counts(sync(source, only_paths=["a.md", "b.md"])) == {"seen": 1, "unchanged": 1, "deleted": 1}
    assert counted["IndexedFile"] == 2


def test_upload_looks_up_its_own_place_in_the_quarantine(workspace, count_calls):
    version = ensure_version(ensure_source(workspace, "uploads", kind="upload"), "")
    for number in range(4):
        set_aside(workspace, version, f"{number}.md", f"bomb {number}".encode())
    counted = count_calls(quarantine, "_known_reasons", size=len)
    assert work(upload(workspace, "a.md", b"# A\n")).counts["new"] == 1
    assert counted["_known_reasons"] == 0
    work(upload(workspace, "b.md", b"bomb 2"))
    assert counted["_known_reasons"] == 1
    assert Unreadable.objects.get(path="b.md").is_quarantined


def test_file_is_compared_with_its_document_once(folder, source, count_calls):
    files = {f"{name}.md": f"# {name}\n" for name in "abcd"}
    fill(folder, files)
    sync(source)
    fill(folder, files)  # under a later time
    counted = count_calls(worker, "is_current")
    assert counts(sync(source)) == {"seen": 4, "unchanged": 4}
    assert counted["is_current"] == 4


def test_page_is_looked_up_once_before_it_is_asked_for(
    linked_site, make_source, reachable_sites, count_calls
):
    counted = count_calls(PageMemory, "find")
    assert sync(make_source())["new"] == 4
    assert counted["find"] == 4


def test_unchanged_file_shares_content_and_vector_with_its_other_version(workspace, folder, source, blobs):
    fill(folder, {"a.md": "alpha\n", "b.md": "beta\n"})
    sync(source)
    drop_embedding_jobs()
    assert embed(workspace).calls == 2
    fill(folder, {"b.md": "better\n"})
    sync(source, version="v1")
    drop_embedding_jobs()

    assert embed(workspace).calls == 1
    hashes = dict(Document.objects.values_list("version__tag", "content_hash").filter(path="a.md"))
    assert hashes[""] == hashes["v1"]
    assert sum(file.is_file() for file in blobs.rglob("*")) == 3
    vectors = ChunkVector.objects.in_workspace(workspace)
    assert (vectors.count(), vectors.values("embed_hash").distinct().count()) == (4, 3)


@pytest.mark.slow
def test_workers_with_and_without_ocr_read_one_source(workspace, folder, source, monkeypatch):
    read = {name: content_of(name) for name in ("image/notice.png", "pdf/scanned.pdf")}
    fill(folder, read)
    assert counts(sync(source)) == {"seen": 2, "new": 2, "parser_calls": 2}
    before = indexed_texts(workspace)
    without_ocr = parser_version_for("image/notice.png").removesuffix(WITH_OCR)
    Document.objects.filter(path="image/notice.png").update(parser_version=without_ocr)
    assert counts(sync(source)) == {"seen": 2, "updated": 1, "unchanged": 1, "parser_calls": 1}

    monkeypatch.setattr(registry, "HAS_OCR", False)
    assert counts(sync(source)) == {"seen": 2, "unchanged": 2}
    fill(folder, read)  # listed with another time, so that their bytes are looked at
    assert counts(sync(source)) == {"seen": 2, "unchanged": 2}
    assert counts(sync(source, version="v1")) == {"seen": 2, "new": 2}
    assert indexed_texts(workspace) == before
