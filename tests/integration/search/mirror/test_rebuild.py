"""A mirror is disposable: whatever its damage, the next sync builds a new generation."""

import errno
import os

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from kebab.health.server_checks import check_lost_changes
from kebab.identity.models import Workspace
from kebab.stack.servers.lost_changes import lost_ranges
from search.corpus import delete_documents
from search.corpus.replace import KEEP, prune_changes
from search.mirror import connections, schema
from search.mirror.connections import ReaderPool
from search.mirror.files import MirrorAbsent, MirrorDamaged, MirrorOutdated
from search.mirror.sync.checksum import check_integrity, mirror_checksum, postgres_checksum
from search.mirror.sync.sync import rebuild_mirror, sync_mirror
from search.models import Change, Document
from tests.integration.search.mirror.inspection import (
    age,
    checksum,
    generations,
    raw_bytes,
    reading,
    tampering,
    texts,
)
from tests.support.corpus import write, write_each

THREE = {"000.md": ["one"], "001.md": ["two"], "002.md": ["three"]}


@pytest.fixture
def mirrored_files(workspace, files):
    """Return the files of a mirror of three documents, at change 3."""
    write_each(workspace, ["one", "two", "three"])
    sync_mirror(files, workspace.pk)
    return files


def is_rebuilt_correctly(files, workspace):
    report = sync_mirror(files, workspace.pk)
    return report.was_rebuilt and checksum(files) == postgres_checksum(workspace.pk)


def rewind(workspace, seq):
    """Restore the change log in Postgres to an earlier state."""
    kept = Change.objects.in_workspace(workspace).filter(seq__lte=seq).values_list("doc_id", flat=True)
    Document.objects.in_workspace(workspace).exclude(doc_id__in=list(kept)).delete()
    Change.objects.in_workspace(workspace).filter(seq__gt=seq).delete()
    Workspace.objects.filter(pk=workspace.pk).update(head_seq=seq)


def prune_all():
    Change.objects.update(at=timezone.now() - 2 * KEEP)
    prune_changes()


@pytest.mark.parametrize("written", [[], ["another history"], ["four", "five", "six", "seven"]])
def test_restored_log_is_mirrored_again_though_its_numbers_are_reused(workspace, mirrored_files, written):
    rewind(workspace, 2)
    write_each(workspace, written, source="again")
    assert is_rebuilt_correctly(mirrored_files, workspace)
    assert [text for each in texts(mirrored_files).values() for text in each if text in written] == written
    (lost,) = (each for each in lost_ranges() if each.subject == str(workspace.pk))
    assert (lost.first, lost.last) == (3, 3)
    assert lost.timeline == lost.former_timeline > 0
    names = [f"changes of {workspace.slug}"]
    assert [each.name for each in check_lost_changes()] == names
    assert [each.status for each in check_lost_changes(repair=True)] == ["repaired"]
    assert not list(check_lost_changes())


def test_mirror_behind_a_pruned_log_is_rebuilt_and_a_current_one_stays(workspace, files):
    sync_mirror(files, workspace.pk)  # an empty one
    for texts_ in (["one", "two", "three"], ["four", "five"]):
        write_each(workspace, texts_, source=texts_[0])
        prune_all()
        assert is_rebuilt_correctly(files, workspace)
    prune_all()
    write(workspace, "new.md", "new")
    assert not sync_mirror(files, workspace.pk).was_rebuilt
    assert checksum(files) == postgres_checksum(workspace.pk)


def test_gap_in_the_change_log_causes_a_rebuild(workspace, mirrored_files):
    write_each(workspace, ["four", "five"], source="more")
    Change.objects.in_workspace(workspace).filter(seq=4).delete()
    assert is_rebuilt_correctly(mirrored_files, workspace)


def test_mirror_far_behind_is_rebuilt(workspace, mirrored_files, monkeypatch):
    monkeypatch.setattr("search.mirror.sync.sync._REBUILD_BACKLOG", 3)
    write_each(workspace, ["a", "b", "c"], source="few")
    assert not sync_mirror(mirrored_files, workspace.pk).was_rebuilt
    write_each(workspace, ["a", "b", "c", "d"], source="many")
    assert is_rebuilt_correctly(mirrored_files, workspace)


def test_mirror_is_rebuilt_when_most_chunks_have_changed(workspace, mirrored_files, monkeypatch):
    write(workspace, "most.md", *(f"part {n}" for n in range(9)))
    monkeypatch.setattr("search.mirror.sync.sync._REBUILD_BACKLOG", 8)
    assert not sync_mirror(mirrored_files, workspace.pk).was_rebuilt  # what comes anew is no less work so
    write(workspace, "most.md", *(f"part {n}" for n in range(8)))
    assert is_rebuilt_correctly(mirrored_files, workspace)
    write(workspace, "most.md", "little")
    assert not sync_mirror(mirrored_files, workspace.pk).was_rebuilt
    assert checksum(mirrored_files) == postgres_checksum(workspace.pk)


def test_mirror_follows_the_log_when_few_chunks_have_changed(workspace, mirrored_files, monkeypatch):
    monkeypatch.setattr("search.mirror.sync.sync._REBUILD_BACKLOG", 4)
    write(workspace, "some.md", *(f"part {n}" for n in range(5)))
    write(workspace, "most.md", *(f"part {n}" for n in range(20)))
    sync_mirror(mirrored_files, workspace.pk)
    write(workspace, "some.md", "another")
    assert not sync_mirror(mirrored_files, workspace.pk).was_rebuilt


def test_mirror_with_many_rows_of_deleted_chunks_is_rebuilt(workspace, mirrored_files, monkeypatch):
    monkeypatch.setattr("search.mirror.sync.sync._SPARSE_FROM", 10)
    rebuilt, rows = [], []
    for n in range(20):
        write(workspace, "again.md", f"state {n}")
        rebuilt.append(sync_mirror(mirrored_files, workspace.pk).was_rebuilt)
        with reading(mirrored_files) as mirror:
            rows.append(mirror.execute("SELECT max(chunk) FROM chunks").get)
    assert rebuilt.count(True) == 1
    assert max(rows) == 17
    assert checksum(mirrored_files) == postgres_checksum(workspace.pk)


def test_mirror_with_few_rows_of_deleted_chunks_follows(workspace, mirrored_files, monkeypatch):
    monkeypatch.setattr("search.mirror.sync.sync._SPARSE_FROM", 5)
    write_each(workspace, [f"kept {n}" for n in range(6)], source="kept")
    for n in range(6):
        write(workspace, "again.md", f"state {n}")
        assert not sync_mirror(mirrored_files, workspace.pk).was_rebuilt


def test_mirror_far_behind_is_rebuilt_without_reading_the_log(workspace, mirrored_files, monkeypatch):
    monkeypatch.setattr("search.mirror.sync.sync._REBUILD_BACKLOG", 1)
    for n in range(10):
        write(workspace, "a.md", f"state {n}")
    assert not sync_mirror(mirrored_files, workspace.pk).was_rebuilt
    for n in range(11):
        write(workspace, "a.md", f"state again {n}")
    with CaptureQueriesContext(connection) as asked:
        assert is_rebuilt_correctly(mirrored_files, workspace)
    assert not [each for each in asked if 'seq" >= ' in each["sql"]]


def test_file_of_another_schema_is_rebuilt(workspace, mirrored_files):
    with tampering(mirrored_files) as connection:
        connection.pragma("user_version", schema.FILE_VERSION + 1)
    with pytest.raises(MirrorOutdated), reading(mirrored_files):
        pass
    assert is_rebuilt_correctly(mirrored_files, workspace)


def test_damaged_emptied_or_missing_file_is_rebuilt(workspace, mirrored_files, subtests):
    for offset in (0, 100, 4096):
        with subtests.test("overwritten", offset=offset):
            with mirrored_files.current().open("r+b") as file:
                size = file.seek(0, 2)
                file.seek(offset)
                file.write(b"\xa5" * (size - offset))
            write(workspace, f"{offset}.md", "new")
            assert is_rebuilt_correctly(mirrored_files, workspace)
    for name, damage in (
        ("emptied", lambda: os.truncate(mirrored_files.current(), 0)),
        ("no file", lambda: mirrored_files.current().unlink()),
        ("no pointer", lambda: (mirrored_files.directory / "CURRENT").unlink()),
    ):
        with subtests.test(name):
            damage()
            assert is_rebuilt_correctly(mirrored_files, workspace)


def test_mirror_without_generation_is_absent(files):
    with pytest.raises(MirrorAbsent):
        files.current()


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_killed_rebuild_publishes_nothing_and_is_cleaned_up(workspace, mirrored_files):
    before = generations(mirrored_files)

    def die():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rebuild_mirror(mirrored_files, workspace.pk, on_document=die)
    assert generations(mirrored_files) == before
    assert list(mirrored_files.directory.glob("*.tmp"))
    assert texts(mirrored_files) == THREE
    sync_mirror(mirrored_files, workspace.pk)
    assert not list(mirrored_files.directory.glob("*.tmp*"))


@pytest.mark.parametrize("step", ["begin", "write", "name"])
def test_rebuild_without_room_leaves_nothing(workspace, mirrored_files, monkeypatch, step):
    before = generations(mirrored_files)
    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
        if step == "begin":
            patched.setattr(connections, "_configure_writer", full)
        if step == "name":
            patched.setattr("pathlib.Path.write_text", full)
        rebuild_mirror(mirrored_files, workspace.pk, on_document=full if step == "write" else lambda: None)
    assert not list(mirrored_files.directory.glob("*.tmp*"))
    assert generations(mirrored_files) == before
    assert texts(mirrored_files) == THREE


def test_pool_lends_the_same_reader_until_the_generation_changes(workspace, mirrored_files):
    pool = ReaderPool()
    before = mirrored_files.current()
    with pool.reader(before) as first:
        pass
    with pool.reader(before) as old:
        assert old is first
        write(workspace, "new.md", "new")
        rebuild_mirror(mirrored_files, workspace.pk)
        assert old.execute("SELECT count(*) FROM documents").fetchone() == (3,)
        after = mirrored_files.current()
        assert after != before
        with pool.reader(after) as new:
            assert new.execute("SELECT count(*) FROM documents").fetchone() == (4,)
            assert new is not old
        assert old.execute("SELECT count(*) FROM documents").fetchone() == (3,)
    pool.close()


def test_old_generations_are_removed_after_a_grace_time(workspace, mirrored_files):
    before = mirrored_files.current()
    rebuild_mirror(mirrored_files, workspace.pk)
    assert before.exists()
    assert not sync_mirror(mirrored_files, workspace.pk).is_settled
    age(mirrored_files.directory / "CURRENT", hours=1)
    assert sync_mirror(mirrored_files, workspace.pk).is_settled
    assert generations(mirrored_files) == {mirrored_files.current().name}


def test_text_deleted_before_a_rebuild_is_in_no_byte_of_the_new_generation(workspace, mirrored_files):
    delete_documents(workspace, [write(workspace, "a.md", "unrepeatable").doc_id])
    rebuild_mirror(mirrored_files, workspace.pk)
    assert b"unrepeatable" not in raw_bytes(mirrored_files)


DAMAGE = [
    "DELETE FROM chunks_fts_content WHERE id = 1",
    "UPDATE chunks_fts_content SET c3 = 'changed' WHERE id = 2",
    "DELETE FROM chunks_fts_docsize WHERE id = 3",
]
DIFFERENCES = [
    "UPDATE documents SET path = 'x' WHERE doc = 1",
    "UPDATE documents SET indexed_at = indexed_at + 1 WHERE doc = 1",
    "UPDATE documents SET trust_level = 'primary' WHERE doc = 1",
    "INSERT INTO document_tags (tag, doc) VALUES ('x', 1)",
    "DELETE FROM chunks WHERE chunk = 1",
    "UPDATE chunks SET row_version = 9 WHERE chunk = 1",
    "UPDATE chunks SET kind = 'code' WHERE chunk = 1",
    "UPDATE chunks_fts SET text = 'x' WHERE rowid = 1",
    "UPDATE chunks_fts SET breadcrumb = 'x' WHERE rowid = 1",
    "UPDATE chunks_fts SET chunk_id = 'x' WHERE rowid = 1",
    "UPDATE chunks_fts SET doc_id = 'x' WHERE rowid = 1",
    "DELETE FROM chunks_fts WHERE rowid = 1",
    "UPDATE meta SET value = 2 WHERE key = 'applied_seq'",
]


class UndoneError(Exception):
    pass


def test_integrity_check_finds_an_index_that_differs_from_its_contents(mirrored_files, subtests):
    with tampering(mirrored_files) as connection:
        check_integrity(connection)
        for damage in DAMAGE:
            with subtests.test(damage=damage), pytest.raises(UndoneError), connection:
                connection.execute(damage)
                with pytest.raises(MirrorDamaged):
                    check_integrity(connection)
                raise UndoneError
        check_integrity(connection)


def test_checksum_finds_every_difference_from_postgres(workspace, mirrored_files, subtests):
    expected = postgres_checksum(workspace.pk)
    with tampering(mirrored_files) as connection:
        assert mirror_checksum(connection) == expected
        for difference in DIFFERENCES:
            with subtests.test(difference=difference), pytest.raises(UndoneError), connection:
                connection.execute(difference)
                assert mirror_checksum(connection) != expected
                raise UndoneError
        assert mirror_checksum(connection) == expected
