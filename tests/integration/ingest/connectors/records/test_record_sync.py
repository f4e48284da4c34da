"""Syncs of a connector that yields prepared records: cursors, deletions, broken listings, groups."""

from datetime import UTC, datetime

import pytest

from ingest.connectors.errors import ContentArchived, ListingFailed, SourceAway
from ingest.connectors.records.record_kind import RecordKind
from ingest.connectors.records.wire import (
    CompleteRecord,
    CursorRecord,
    DeletedRecord,
    DocumentRecord,
    WarningRecord,
)
from ingest.jobs.items.worker import ItemWorker
from ingest.jobs.queue.report import ingest_report
from ingest.jobs.queue.request import request_sync
from ingest.jobs.queue.schedule import retry
from kebab.identity.models import Group
from search.access.restrictions import restrict
from search.corpus import ensure_source
from search.corpus.blobs import list_blobs
from search.models import Document
from tests.support.jobs import Killed, counts, die, expire, failure, indexed_texts, sync, work


class PreparedReader:
    """A reader of `script`, a list of records and of errors to raise."""

    def __init__(self):
        self.script = []
        self.cursors = []
        self.contents = {}
        self.fetched = []

    def records(self, cursor):
        self.cursors.append(cursor)
        for each in self.script:
            if isinstance(each, Exception):
                raise each
            yield each

    def fetch(self, path, locator, limit_bytes):
        self.fetched.append(path)
        content = self.contents[path]
        if isinstance(content, Exception):
            raise content
        return content

    def close(self):
        pass


@pytest.fixture
def reader(monkeypatch):
    prepared = PreparedReader()
    monkeypatch.setattr(RecordKind, "open_reader", lambda kind, source, while_waiting: prepared)
    return prepared


@pytest.fixture
def source(workspace):
    return ensure_source(workspace, "prepared", kind="s3", config={})


def note(name, text="", **fields):
    return DocumentRecord(path=f"{name}.md", content=f"About {text or name}".encode(), **fields)


def paths(workspace):
    return set(indexed_texts(workspace))


def test_record_fields_are_stored_with_the_document(workspace, source, reader):
    reader.script = [
        note(
            "a",
            title="The first\x00",
            author="Ada",
            dated=datetime(2024, 5, 6, tzinfo=UTC),
            metadata={"url": "https://example.org/a", "stars": 3},
        )
    ]
    sync(source)
    document = Document.objects.get()
    assert (document.title, document.author, document.dated_at.year) == ("The first", "Ada", 2024)
    assert document.metadata == {"author": "Ada", "url": "https://example.org/a", "stars": 3}
    reader.script = [note("a", title="Another title")]
    assert counts(sync(source))["updated"] == 1
    assert Document.objects.get().title == "Another title"


def test_next_sync_goes_on_from_the_cursor_and_deletes_only_what_is_named(workspace, source, reader):
    reader.script = [note("a"), note("b"), CursorRecord(state="1"), note("c"), CursorRecord(state="2")]
    sync(source)
    reader.script = [DeletedRecord(path="b.md"), note("a", "changed"), CursorRecord(state="3")]
    assert counts(sync(source)) == {"seen": 1, "updated": 1, "deleted": 1, "parser_calls": 1}
    assert paths(workspace) == {"a.md", "c.md"}
    reader.script = []
    assert counts(sync(source)) == {}
    assert reader.cursors == ["", "2", "3"]


def test_complete_listing_deletes_what_it_does_not_name(workspace, source, reader):
    reader.script = [note("a"), note("b"), CompleteRecord()]
    sync(source)
    reader.script = [note("a"), CompleteRecord()]
    assert counts(sync(source)) == {"seen": 1, "unchanged": 1, "deleted": 1}
    assert paths(workspace) == {"a.md"}


def test_listing_that_breaks_off_stores_what_came_before_and_deletes_nothing(workspace, source, reader):
    reader.script = [note("a"), note("b"), CursorRecord(state="1")]
    sync(source)
    away = SourceAway("example.org is away.")
    reader.script = [note("c"), CursorRecord(state="2"), note("d"), CompleteRecord(), away]
    job = work(request_sync(source))
    assert (job.state, "example.org is away" in job.error) == ("failed", True)
    assert counts(ingest_report(job)) == {"seen": 2, "new": 2, "parser_calls": 2}
    assert paths(workspace) == {"a.md", "b.md", "c.md", "d.md"}
    reader.script = [note("d"), CursorRecord(state="3")]
    assert counts(sync(source)) == {"seen": 1, "unchanged": 1}
    assert reader.cursors == ["", "1", "2"]


def test_listing_that_fails_at_once_changes_nothing(workspace, source, reader):
    reader.script = [note("a"), CursorRecord(state="1")]
    sync(source)
    reader.script = [ListingFailed("refused.")]
    assert "nothing was changed" in failure(source)
    assert paths(workspace) == {"a.md"}
    reader.script = []
    sync(source)
    assert reader.cursors == ["", "1", "1"]


def test_cursor_waits_for_a_document_that_could_not_be_fetched(workspace, source, reader):
    reader.contents = {"a.md": OSError("It may not be read."), "b.md": b"About b"}
    reader.script = [
        DocumentRecord(path="a.md", version="1"),
        DocumentRecord(path="b.md", version="1"),
        CursorRecord(state="1"),
    ]
    job = work(request_sync(source))
    assert ingest_report(job)["failed_by_reason"] == {"unreadable": 1}
    reader.contents["a.md"] = b"About a"
    assert counts(ingest_report(work(retry(job))))["new"] == 1
    assert counts(sync(source)) == {"seen": 2, "unchanged": 2}
    sync(source)
    assert reader.cursors == ["", "", "", "1"]
    assert reader.fetched == ["a.md", "b.md", "a.md"]


def test_killed_worker_loses_nothing_and_reads_nothing_twice(workspace, source, reader, monkeypatch):
    reader.script = [note("a"), note("b"), CursorRecord(state="1")]
    job = request_sync(source)
    with monkeypatch.context() as patch:
        patch.setattr(ItemWorker, "run", die)
        with pytest.raises(Killed):
            work(job)
    assert paths(workspace) == set()
    expire(job)
    reader.script = []
    assert counts(ingest_report(work(job))) == {"seen": 2, "new": 2, "parser_calls": 2}
    assert sum(len(names) for names in list_blobs(workspace.pk)) == 2
    sync(source)
    assert reader.cursors == ["", "1"]


def test_last_record_of_a_path_counts(workspace, source, reader):
    reader.script = [note("a"), note("b"), CursorRecord(state="1")]
    sync(source)
    reader.script = [note("a", "x"), note("a"), DeletedRecord(path="b.md"), note("b", "y"), note("c")]
    reader.script.append(DeletedRecord(path="c.md"))
    sync(source)
    found = {path: chunks[0] for path, chunks in indexed_texts(workspace).items()}
    assert found == {"a.md": "About a", "b.md": "About y"}


def test_document_is_read_only_if_all_readers_of_the_source_may_read_it(workspace, source, reader):
    staff, board = (Group.objects.create(workspace=workspace, name=name) for name in ("staff", "board"))
    reader.script = [
        note("open"),
        note("staff", groups=["staff"]),
        note("both", groups=["staff", "board"]),
        note("nobody", groups=[]),
        CursorRecord(state="1"),
    ]
    assert sync(source)["skipped_by_reason"] == {"not_permitted": 3}
    assert paths(workspace) == {"open.md"}
    restrict(source, [staff.pk])
    sync(source)
    assert paths(workspace) == {"open.md", "staff.md", "both.md"}
    restrict(source, [staff.pk, board.pk])
    sync(source)
    assert paths(workspace) == {"open.md", "both.md"}
    restrict(source, [])
    sync(source)
    assert len(paths(workspace)) == 4
    assert reader.cursors == [""] * 4


def test_archived_documents_are_skipped_and_kept_if_they_were_read_before(workspace, source, reader):
    reader.script = [note("a", version="1"), note("b", version="1"), CompleteRecord()]
    sync(source)
    reader.script = [
        note("a", version="1", is_archived=True),
        note("b", version="2", is_archived=True),
        DocumentRecord(path="c.md", version="1", is_archived=True),
        DocumentRecord(path="d.md", version="1"),
        CompleteRecord(),
    ]
    reader.contents["d.md"] = ContentArchived("Restore it.")
    report = sync(source)
    assert report["skipped_by_reason"] == {"archived": 3}
    assert (report["unchanged"], report["deleted"]) == (1, 1)
    assert paths(workspace) == {"a.md"}
    report = sync(source)
    assert (report["skipped_by_reason"], report["unchanged"]) == ({"archived": 3}, 1)
    reader.script = [DocumentRecord(path="c.md", version="1"), CursorRecord(state="1")]
    reader.contents["c.md"] = b"About c"
    assert sync(source)["new"] == 1


def test_unusable_records_are_skipped_and_warnings_reported(workspace, source, reader):
    reader.script = [
        note("../outside"),
        DocumentRecord(path="film.mp4", version="1"),
        DocumentRecord(path="huge.md", version="1", size_bytes=10**12),
        WarningRecord(message="One folder is locked."),
        DocumentRecord(path="always.md"),
    ]
    reader.contents["always.md"] = b"About always"
    report = sync(source)
    assert report["skipped_by_reason"] == {"unsafe_name": 1, "no_parser": 1, "too_large": 1}
    assert report["warnings"] == ["One folder is locked."]
    sync(source)
    assert reader.fetched == ["always.md", "always.md"]
