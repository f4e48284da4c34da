"""A mirror is disposable: whatever is wrong with it, the next sync makes a new generation."""

import errno
import os
import time

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from kebab.people.models import Workspace
from search.changelog import KEEP, prune_changes
from search.corpus import delete_documents
from search.mirror import connections, schema
from search.mirror.checksum import check_integrity, mirror_checksum, postgres_checksum
from search.mirror.connections import ReaderPool
from search.mirror.errors import MirrorAbsent, MirrorDamaged, MirrorOutdated
from search.mirror.sync import rebuild_mirror, sync_mirror
from search.models import Change, Document
from tests.integration.search.mirror.looking import (
    checksum,
    generations,
    raw_bytes,
    reading,
    tampering,
    texts,
)
from tests.support.corpus import write, write_each


@pytest.fixture
def mirrored(workspace, files):
    """A mirror of three documents, at change 3."""
    write_each(workspace, ["one", "two", "three"])
    sync_mirror(files, workspace.pk)
    return files


def rebuilt_and_right(files, workspace):
    report = sync_mirror(files, workspace.pk)
    return report.was_rebuilt and checksum(files) == postgres_checksum(workspace.pk)


def rewind(workspace, seq):
    """Restore Postgres to an earlier time, as far as the log is concerned."""
    kept = Change.objects.in_workspace(workspace).filter(seq__lte=seq).values_list("doc_id", flat=True)
    Document.objects.in_workspace(workspace).exclude(doc_id__in=list(kept)).delete()
    Change.objects.in_workspace(workspace).filter(seq__gt=seq).delete()
    Workspace.objects.filter(pk=workspace.pk).update(head_seq=seq)


def overwrite(path, offset, size):
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(b"\xa5" * size)


def test_postgres_restored_to_an_earlier_time_is_mirrored_anew(workspace, mirrored):
    rewind(workspace, 2)
    assert rebuilt_and_right(mirrored, workspace)


def test_numbers_used_again_after_a_restore_are_not_mistaken_for_the_old_ones(workspace, mirrored):
    rewind(workspace, 2)
    write(workspace, "other.md", "another history")
    assert rebuilt_and_right(mirrored, workspace)
    assert "other.md" in texts(mirrored)


def test_numbers_used_again_and_passed_are_noticed_too(workspace, mirrored):
    rewind(workspace, 1)
    write_each(workspace, ["four", "five", "six", "seven"], source="again")
    assert rebuilt_and_right(mirrored, workspace)


def test_a_mirror_behind_a_pruned_log_is_rebuilt(workspace, mirrored):
    write_each(workspace, ["four", "five"], source="more")
    Change.objects.update(at=timezone.now() - 2 * KEEP)
    prune_changes()
    assert rebuilt_and_right(mirrored, workspace)


def test_an_empty_mirror_behind_a_pruned_log_is_rebuilt(workspace, files):
    sync_mirror(files, workspace.pk)
    write_each(workspace, ["one", "two", "three"])
    Change.objects.update(at=timezone.now() - 2 * KEEP)
    prune_changes()
    assert rebuilt_and_right(files, workspace)


def test_a_hole_in_the_log_is_not_stepped_over(workspace, mirrored):
    write_each(workspace, ["four", "five"], source="more")
    Change.objects.in_workspace(workspace).filter(seq=4).delete()
    assert rebuilt_and_right(mirrored, workspace)


def test_a_current_mirror_survives_pruning(workspace, mirrored):
    Change.objects.update(at=timezone.now() - 2 * KEEP)
    prune_changes()
    write(workspace, "new.md", "new")
    assert not sync_mirror(mirrored, workspace.pk).was_rebuilt
    assert checksum(mirrored) == postgres_checksum(workspace.pk)


def test_a_mirror_far_behind_is_rebuilt(workspace, mirrored, monkeypatch):
    monkeypatch.setattr("search.mirror.sync._REBUILD_BACKLOG", 3)
    write_each(workspace, ["a", "b", "c"], source="few")
    assert not sync_mirror(mirrored, workspace.pk).was_rebuilt
    write_each(workspace, ["a", "b", "c", "d"], source="many")
    assert rebuilt_and_right(mirrored, workspace)


def test_a_mirror_of_whose_chunks_many_have_changed_is_rebuilt(workspace, mirrored, monkeypatch):
    write(workspace, "most.md", *(f"part {n}" for n in range(9)))
    monkeypatch.setattr("search.mirror.sync._REBUILD_BACKLOG", 8)
    assert not sync_mirror(mirrored, workspace.pk).was_rebuilt  # what comes anew is no less work so
    write(workspace, "most.md", *(f"part {n}" for n in range(8)))
    assert rebuilt_and_right(mirrored, workspace)
    write(workspace, "most.md", "little")
    assert not sync_mirror(mirrored, workspace.pk).was_rebuilt
    assert checksum(mirrored) == postgres_checksum(workspace.pk)


def test_a_mirror_of_which_a_small_share_has_changed_follows(workspace, mirrored, monkeypatch):
    monkeypatch.setattr("search.mirror.sync._REBUILD_BACKLOG", 4)
    write(workspace, "some.md", *(f"part {n}" for n in range(5)))
    write(workspace, "most.md", *(f"part {n}" for n in range(20)))
    sync_mirror(mirrored, workspace.pk)
    write(workspace, "some.md", "another")
    assert not sync_mirror(mirrored, workspace.pk).was_rebuilt


def test_a_mirror_most_of_whose_rows_are_of_chunks_that_are_no_more_is_rebuilt(
    workspace, mirrored, monkeypatch
):
    monkeypatch.setattr("search.mirror.sync._SPARSE_FROM", 20)
    rebuilt, rows = [], []
    for n in range(40):
        write(workspace, "again.md", f"state {n}")
        rebuilt.append(sync_mirror(mirrored, workspace.pk).was_rebuilt)
        with reading(mirrored) as mirror:
            rows.append(mirror.execute("SELECT max(chunk) FROM chunks").get)
    assert rebuilt.count(True) == 2
    assert max(rows) == 21
    assert checksum(mirrored) == postgres_checksum(workspace.pk)


def test_a_mirror_that_is_large_and_has_little_that_is_no_more_follows(workspace, mirrored, monkeypatch):
    monkeypatch.setattr("search.mirror.sync._SPARSE_FROM", 5)
    write_each(workspace, [f"kept {n}" for n in range(6)], source="kept")
    for n in range(10):
        write(workspace, "again.md", f"state {n}")
        assert not sync_mirror(mirrored, workspace.pk).was_rebuilt


def test_a_log_that_is_far_too_long_is_not_read(workspace, mirrored, monkeypatch):
    monkeypatch.setattr("search.mirror.sync._REBUILD_BACKLOG", 1)
    for n in range(10):
        write(workspace, "a.md", f"state {n}")
    assert not sync_mirror(mirrored, workspace.pk).was_rebuilt
    for n in range(11):
        write(workspace, "a.md", f"state again {n}")
    with CaptureQueriesContext(connection) as asked:
        assert rebuilt_and_right(mirrored, workspace)
    assert not [each for each in asked if 'seq" >= ' in each["sql"]]


def test_a_file_of_another_schema_is_rebuilt(workspace, mirrored):
    with tampering(mirrored) as connection:
        connection.pragma("user_version", schema.FILE_VERSION + 1)
    with pytest.raises(MirrorOutdated), reading(mirrored):
        pass
    assert rebuilt_and_right(mirrored, workspace)


@pytest.mark.parametrize("offset", [0, 100, 4096])
def test_a_damaged_file_is_rebuilt(workspace, mirrored, offset):
    overwrite(mirrored.current(), offset, mirrored.current().stat().st_size - offset)
    write(workspace, "new.md", "new")
    assert rebuilt_and_right(mirrored, workspace)


def test_an_emptied_file_is_rebuilt(workspace, mirrored):
    os.truncate(mirrored.current(), 0)
    assert rebuilt_and_right(mirrored, workspace)


def test_a_mirror_whose_file_or_pointer_is_gone_is_rebuilt(workspace, mirrored):
    mirrored.current().unlink()
    assert rebuilt_and_right(mirrored, workspace)
    (mirrored.directory / "CURRENT").unlink()
    assert rebuilt_and_right(mirrored, workspace)


def test_a_mirror_without_generation_is_absent(files):
    with pytest.raises(MirrorAbsent):
        files.current()


def test_a_rebuild_that_was_killed_publishes_nothing_and_is_cleaned_up(workspace, mirrored):
    before = generations(mirrored)

    def die():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rebuild_mirror(mirrored, workspace.pk, on_document=die)
    assert generations(mirrored) == before
    assert list(mirrored.directory.glob("*.tmp"))
    assert texts(mirrored) == {"000.md": ["one"], "001.md": ["two"], "002.md": ["three"]}
    sync_mirror(mirrored, workspace.pk)
    assert not list(mirrored.directory.glob("*.tmp*"))


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_rebuild_that_finds_no_room_leaves_none_of_what_it_wrote(workspace, mirrored):
    before = generations(mirrored)
    with pytest.raises(OSError, match="No space"):
        rebuild_mirror(mirrored, workspace.pk, on_document=full)
    assert not list(mirrored.directory.glob("*.tmp*"))
    assert generations(mirrored) == before
    assert texts(mirrored) == {"000.md": ["one"], "001.md": ["two"], "002.md": ["three"]}


def test_a_rebuild_that_can_not_even_begin_leaves_nothing(workspace, mirrored, monkeypatch):
    monkeypatch.setattr(connections, "_configure_writer", full)
    with pytest.raises(OSError, match="No space"):
        rebuild_mirror(mirrored, workspace.pk)
    assert not list(mirrored.directory.glob("*.tmp*"))


def test_a_rebuild_that_has_no_room_for_its_name_is_not_kept_either(workspace, mirrored, monkeypatch):
    before = generations(mirrored)
    monkeypatch.setattr("pathlib.Path.write_text", full)
    with pytest.raises(OSError, match="No space"):
        rebuild_mirror(mirrored, workspace.pk)
    assert not list(mirrored.directory.glob("*.tmp*"))
    assert generations(mirrored) == before


def test_readers_go_on_in_their_generation_and_new_ones_see_the_next(workspace, mirrored):
    pool = ReaderPool()
    before = mirrored.current()
    with pool.reader(before) as old:
        write(workspace, "new.md", "new")
        rebuild_mirror(mirrored, workspace.pk)
        assert old.execute("SELECT count(*) FROM documents").fetchone() == (3,)
        after = mirrored.current()
        assert after != before
        with pool.reader(after) as new:
            assert new.execute("SELECT count(*) FROM documents").fetchone() == (4,)
        assert old.execute("SELECT count(*) FROM documents").fetchone() == (3,)
    pool.close()


def test_a_pool_gives_back_the_same_reader_until_the_generation_changes(workspace, mirrored):
    pool = ReaderPool()
    with pool.reader(mirrored.current()) as first:
        pass
    with pool.reader(mirrored.current()) as second:
        pass
    rebuild_mirror(mirrored, workspace.pk)
    with pool.reader(mirrored.current()) as third:
        pass
    assert first is second
    assert third is not first
    pool.close()


def test_old_generations_are_removed_after_a_grace_time(workspace, mirrored):
    before = mirrored.current()
    rebuild_mirror(mirrored, workspace.pk)
    assert before.exists()
    assert not sync_mirror(mirrored, workspace.pk).is_settled
    long_ago = time.time() - 3600
    os.utime(mirrored.directory / "CURRENT", (long_ago, long_ago))
    assert sync_mirror(mirrored, workspace.pk).is_settled
    assert generations(mirrored) == {mirrored.current().name}


def test_text_deleted_before_a_rebuild_is_in_no_byte_of_the_new_generation(workspace, mirrored):
    delete_documents(workspace, [write(workspace, "a.md", "unrepeatable").doc_id])
    rebuild_mirror(mirrored, workspace.pk)
    assert b"unrepeatable" not in raw_bytes(mirrored)


def test_the_integrity_check_passes_a_sound_mirror(mirrored):
    with tampering(mirrored) as connection:
        check_integrity(connection)


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM chunks_fts_content WHERE id = 1",
        "UPDATE chunks_fts_content SET c3 = 'changed' WHERE id = 2",
        "DELETE FROM chunks_fts_docsize WHERE id = 3",
    ],
)
def test_the_integrity_check_sees_an_index_that_differs_from_its_contents(mirrored, damage):
    with tampering(mirrored) as connection:
        connection.execute(damage)
        with pytest.raises(MirrorDamaged):
            check_integrity(connection)


@pytest.mark.parametrize(
    "difference",
    [
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
    ],
)
def test_the_checksum_sees_every_difference_from_postgres(workspace, mirrored, difference):
    expected = postgres_checksum(workspace.pk)
    with tampering(mirrored) as connection:
        assert mirror_checksum(connection) == expected
        connection.execute(difference)
        assert mirror_checksum(connection) != expected
