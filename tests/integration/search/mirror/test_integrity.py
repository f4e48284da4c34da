"""The daily check of mirrors finds indexes that differ from their text."""

import threading
from concurrent.futures import wait
from types import SimpleNamespace

import apsw
import pytest

from search.mirror.files import MirrorDamaged, MirrorFiles
from search.mirror.sync import checksum, follow, sync
from search.mirror.sync.checksum import check_mirror, due_checks, remove_copies
from search.mirror.sync.follow import MirrorFollower
from search.mirror.sync.sync import sync_mirror
from tests.integration.search.mirror.inspection import age, catch_up_completely, tampering, texts
from tests.support.corpus import make_workspace, write

GOING = threading.Event()


@pytest.fixture
def mirrored_workspace(workspace, files):
    write(workspace, "a.md", "apple")
    sync_mirror(files, workspace.pk)
    return workspace


@pytest.fixture
def due(mirrored_workspace, files):
    """Return a mirror whose check is due."""
    age(files.directory / "CURRENT", hours=25)
    return mirrored_workspace


def damage(files, sql="UPDATE chunks_fts_content SET c3 = 'changed'"):
    """Make the index disagree with the text without an error."""
    with tampering(files) as connection:
        connection.execute(sql)


def copies(mirrors):
    return list(mirrors.glob(".check-*"))


def check_in_background(follower):
    follower.check_one()
    wait(list(follower._checks._tasks.values()), timeout=30)
    follower.check_one()


def test_mirrors_unchecked_for_a_day_are_due_the_longest_first(mirrored_workspace, files, mirrors):
    other = make_workspace()
    others = MirrorFiles.of(mirrors, other.pk)
    sync_mirror(others, other.pk)
    assert due_checks(mirrors) == []
    age(files.directory / "CURRENT", hours=25)
    age(others.directory / "CURRENT", hours=30)
    assert due_checks(mirrors) == [other.pk, mirrored_workspace.pk]
    check_mirror(others, GOING)
    assert due_checks(mirrors) == [mirrored_workspace.pk]
    age(others.directory / "CHECKED", hours=26)
    assert due_checks(mirrors) == [other.pk, mirrored_workspace.pk]


def test_integrity_check_of_a_sound_mirror_removes_its_copy_and_allows_writes(
    mirrored_workspace, files, mirrors, monkeypatch
):
    real, seen = checksum.check_integrity, []

    def write_and_check(connection):
        write(mirrored_workspace, "b.md", "pear")
        seen.append(sync_mirror(files, mirrored_workspace.pk).documents)
        real(connection)

    monkeypatch.setattr(checksum, "check_integrity", write_and_check)
    check_mirror(files, GOING)
    assert seen == [1]
    assert texts(files) == {"a.md": ["apple"], "b.md": ["pear"]}
    assert not copies(mirrors)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE postings SET term = CAST(x'61ff' AS TEXT) WHERE term = 'appl'",
        "UPDATE chunks SET kind = 'unknown'",
        "UPDATE blocks SET block = 7",
        "UPDATE postings SET entries = x'01'",
        "UPDATE chunks_fts_content SET c3 = 'changed'",
    ],
)
def test_damage_is_found_and_stays_due(due, files, mirrors, sql):
    damage(files, sql)
    with pytest.raises(MirrorDamaged):
        check_mirror(files, GOING)
    assert not copies(mirrors)
    # Should this process end before it is made anew, the next one is to find it, too.
    assert due_checks(mirrors) == [due.pk]


def test_damaged_mirror_is_rebuilt_by_the_follower_and_counted(due, files, mirrors, monkeypatch):
    counted = []
    monkeypatch.setattr(sync, "REBUILDS", SimpleNamespace(add=counted.append))
    damage(files)
    follower = MirrorFollower(mirrors, threading.Event())
    follower.catch_up()
    check_in_background(follower)
    catch_up_completely(follower)
    assert (texts(files), counted) == ({"a.md": ["apple"]}, ["damaged"])


def test_check_without_room_is_left_to_another_day(due, files, mirrors, monkeypatch, caplog):
    def full(*_):
        raise apsw.FullError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(checksum, "_copy", full)
        check_mirror(files, GOING)
    assert due_checks(mirrors) == copies(mirrors) == []
    age(files.directory / "CHECKED", hours=25)
    free = 2 * files.size_bytes() - 1
    monkeypatch.setattr(checksum.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    monkeypatch.setattr(checksum, "_copy", lambda *_: pytest.fail("it is copied"))
    check_mirror(files, GOING)
    assert f"{free:,}" in caplog.text
    assert due_checks(mirrors) == []


def test_check_that_ended_its_process_is_not_begun_by_the_next(due, files, mirrors, monkeypatch):
    class Killed(BaseException):
        pass

    def kill(_):
        raise Killed

    monkeypatch.setattr(checksum, "check_integrity", kill)
    with pytest.raises(Killed):
        check_mirror(files, GOING)
    assert due_checks(mirrors) == []


@pytest.mark.parametrize("step", ["_copy", "_check"])
def test_stopped_check_is_due_again(due, files, mirrors, monkeypatch, step):
    stop, real = threading.Event(), getattr(checksum, step)

    def stop_and_check(*arguments):
        stop.set()
        real(*arguments)

    monkeypatch.setattr(checksum, "_STEPS", 1)
    monkeypatch.setattr(checksum, step, stop_and_check)
    check_mirror(files, stop)
    assert due_checks(mirrors) == [due.pk]
    assert not copies(mirrors)


def test_failing_integrity_check_does_not_stop_the_follower(due, mirrors, monkeypatch, caplog):
    def run_out_of_memory(*_):
        raise MemoryError

    monkeypatch.setattr(follow, "check_mirror", run_out_of_memory)
    check_in_background(MirrorFollower(mirrors, threading.Event()))
    assert str(due.pk) in caplog.text


def test_copy_of_a_killed_check_is_removed(mirrored_workspace, mirrors):
    (mirrors / ".check-left").mkdir()
    (mirrors / ".check-left" / "copy.sqlite3").write_text("apple")
    remove_copies(mirrors)
    assert not copies(mirrors)
