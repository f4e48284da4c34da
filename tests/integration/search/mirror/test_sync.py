"""A sync applies the log: the mirror has all writes and no deleted document."""

import os
from functools import partial

import pytest

from kebab.identity.models import Workspace
from kebab.tenancy.current_workspace import acting_nowhere
from search.corpus import delete_documents, update_document_fields
from search.mirror.files import MirrorBusy
from search.mirror.local_mirrors import reader_pool
from search.mirror.sync.apply import Applier
from search.mirror.sync.checksum import postgres_checksum
from search.mirror.sync.sync import applied_seq, rebuild_mirror, sync_mirror
from search.models import Document
from tests.integration.search.mirror.inspection import checksum, raw_bytes, reading, texts
from tests.support.concurrency import at_once
from tests.support.corpus import chunk, make_workspace, write


def test_first_sync_builds_the_mirror_and_a_second_changes_nothing(workspace, files):
    write(workspace, "a.md", "one", "two")
    report = sync_mirror(files, workspace.pk)
    assert (report.applied_seq, report.documents, report.was_rebuilt) == (1, 1, True)
    before = raw_bytes(files)
    report = sync_mirror(files, workspace.pk)
    assert (report.applied_seq, report.documents, report.was_rebuilt) == (1, 0, False)
    assert raw_bytes(files) == before
    assert texts(files) == {"a.md": ["one", "two"]}


def test_empty_workspace_has_a_mirror_too(workspace, files):
    assert sync_mirror(files, workspace.pk).applied_seq == 0
    write(workspace, "a.md", "one")
    report = sync_mirror(files, workspace.pk)
    assert (report.applied_seq, report.was_rebuilt, texts(files)) == (1, False, {"a.md": ["one"]})


@pytest.mark.parametrize("follow", [sync_mirror, rebuild_mirror])
def test_sync_works_without_a_current_workspace(workspace, files, follow):
    write(workspace, "a.md", "one")
    with acting_nowhere():
        assert follow(files, workspace.pk).documents == 1
    assert texts(files) == {"a.md": ["one"]}


def test_new_changed_and_deleted_documents_are_applied_once(workspace, files):
    write(workspace, "changed.md", "before", "kept")
    gone = write(workspace, "gone.md", "one")
    sync_mirror(files, workspace.pk)
    write(workspace, "new.md", "new")
    for text in ("between", "after"):
        write(workspace, "changed.md", "kept", text)
    delete_documents(workspace, [gone.doc_id])
    report = sync_mirror(files, workspace.pk)
    assert (report.applied_seq, report.documents, report.was_rebuilt) == (6, 3, False)
    assert texts(files) == {"changed.md": ["after", "kept"], "new.md": ["new"]}


def test_restated_fields_of_a_document_are_followed(workspace, files):
    write(workspace, "a.md", "one", tags=("old", "both"))
    sync_mirror(files, workspace.pk)
    stated = {"tags": ["both", "new"], "lang": "de", "trust_level": "primary", "media": "code"}
    update_document_fields(Document.objects.get(), **stated)
    sync_mirror(files, workspace.pk)
    with reading(files) as connection:
        row = connection.execute("SELECT lang, trust_level, media FROM documents").fetchone()
        tags = [tag for (tag,) in connection.execute("SELECT tag FROM document_tags ORDER BY tag")]
    assert (row, tags) == (("de", "primary", "code"), ["both", "new"])


@pytest.mark.parametrize("between", [[], ["something else"]])
def test_changed_breadcrumb_of_a_chunk_is_followed_though_its_id_stays(workspace, files, between):
    write(workspace, "a.md", chunk("one", heading="Before"))
    sync_mirror(files, workspace.pk)
    for text in between:  # the chunk goes and comes back
        write(workspace, "a.md", text)
    write(workspace, "a.md", chunk("one", heading="After"))
    sync_mirror(files, workspace.pk)
    with reading(files) as connection:
        found = [
            connection.execute("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH ?", (word,)).fetchone()
            for word in ("before", "after")
        ]
    assert found == [(0,), (1,)]
    assert checksum(files) == postgres_checksum(workspace.pk)


def test_mirror_holds_its_own_workspace_alone(workspace, files):
    write(make_workspace(corpus_id=workspace.corpus_id), "theirs.md", "secret")
    write(workspace, "ours.md", "one")
    sync_mirror(files, workspace.pk)
    assert texts(files) == {"ours.md": ["one"]}
    assert b"secret" not in raw_bytes(files)


def test_syncs_at_the_same_time_build_one_mirror_and_apply_each_change_once(workspace, files):
    for n, was_rebuilt in ((0, 1), (1, 0)):
        for m in range(8):
            write(workspace, f"{m}.md", f"text {n} {m}")
        reports = at_once([partial(sync_mirror, files, workspace.pk, wait_s=30)] * 4)
        assert {report.applied_seq for report in reports} == {8 * (n + 1)}
        assert sorted(report.documents for report in reports) == [0, 0, 0, 8]
        assert sum(report.was_rebuilt for report in reports) == was_rebuilt
        assert checksum(files) == postgres_checksum(workspace.pk)


def test_syncs_during_writes_end_at_the_state_of_postgres(workspace, files):
    def write_some(writer):
        for n in range(6):
            write(workspace, f"{writer}-{n % 3}.md", f"{writer} {n}", source=f"source-{writer}")

    def follow():
        for _ in range(6):
            sync_mirror(files, workspace.pk, wait_s=30)

    at_once([partial(write_some, 1), partial(write_some, 2), follow, follow])
    sync_mirror(files, workspace.pk)
    assert checksum(files) == postgres_checksum(workspace.pk)


def test_sync_during_another_process_raises_mirror_busy(workspace, files):
    with files.write_lock(), pytest.raises(MirrorBusy):
        sync_mirror(files, workspace.pk)
    with files.write_lock(), pytest.raises(MirrorBusy):
        rebuild_mirror(files, workspace.pk, wait_s=0.01)


def test_lock_of_a_process_that_died_is_free(workspace, files):
    child = os.posix_spawn(
        "/bin/sh",
        ["sh", "-c", f"mkdir -p {files.directory}; exec flock -n {files.directory}/writer.lock true"],
        {},
    )
    assert os.waitpid(child, 0)[1] == 0
    assert sync_mirror(files, workspace.pk).was_rebuilt


def test_sync_of_a_deleted_workspace_raises(workspace, files):
    sync_mirror(files, workspace.pk)
    Workspace.objects.all().delete()
    with pytest.raises(Workspace.DoesNotExist):
        sync_mirror(files, workspace.pk)


def test_sync_that_breaks_off_leaves_the_mirror_as_it_was(workspace, files, monkeypatch):
    write(workspace, "a.md", "before")
    sync_mirror(files, workspace.pk)
    write(workspace, "a.md", "after")
    write(workspace, "b.md", "new")
    real, calls = Applier.upsert, []

    def fail_at_the_second(applier, state):
        calls.append(state.path)
        if len(calls) == 2:
            raise OSError("disk full")
        return real(applier, state)

    monkeypatch.setattr(Applier, "upsert", fail_at_the_second)
    with pytest.raises(OSError, match="disk full"):
        sync_mirror(files, workspace.pk)
    assert texts(files) == {"a.md": ["before"]}
    with reading(files) as connection:
        assert applied_seq(connection) == 1
    monkeypatch.undo()
    assert sync_mirror(files, workspace.pk).documents == 2
    assert texts(files) == {"a.md": ["after"], "b.md": ["new"]}


@pytest.mark.parametrize("erase", ["delete", "replace"])
def test_deleted_text_is_in_no_byte_of_the_files_though_readers_are_idle(workspace, files, erase):
    secrets = [f"unrepeatable{n}secret" for n in range(40)]
    write(workspace, "a.md", *secrets, "kept words")
    write(workspace, "kept.md", *(f"ordinary text number {n}" for n in range(40)))
    sync_mirror(files, workspace.pk)
    assert b"unrepeatable7secret" in raw_bytes(files)
    with reader_pool().reader(files.current()) as reader:
        reader.execute("SELECT count(*) FROM chunks").fetchall()
    if erase == "delete":
        delete_documents(workspace, [Document.objects.get(path="a.md").doc_id])
    else:
        write(workspace, "a.md", "kept words")
    sync_mirror(files, workspace.pk)
    reader_pool().close()
    assert b"unrepeatable" not in raw_bytes(files)


def test_erasure_blocked_by_a_reader_is_finished_by_the_next_sync(workspace, files):
    write(workspace, "a.md", "unrepeatable")
    sync_mirror(files, workspace.pk)
    with reading(files) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM chunks").fetchall()
        delete_documents(workspace, [Document.objects.get().doc_id])
        assert not sync_mirror(files, workspace.pk).is_settled
        reader.execute("ROLLBACK")
        assert sync_mirror(files, workspace.pk).is_settled
        for path in files.directory.glob("*-wal"):
            assert b"unrepeatable" not in path.read_bytes()
    assert b"unrepeatable" not in raw_bytes(files)
