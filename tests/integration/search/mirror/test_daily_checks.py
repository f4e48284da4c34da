"""Mirrors whose indexes differ from their text where nobody stumbles on it, found by a look once a day."""

import os
import threading
import time
from concurrent.futures import wait
from types import SimpleNamespace

import apsw
import pytest

from search.mirror import checking, follow, sync
from search.mirror.checking import check_mirror, due_checks, remove_copies
from search.mirror.errors import MirrorDamaged
from search.mirror.files import MirrorFiles
from search.mirror.follow import MirrorFollower
from search.mirror.sync import sync_mirror
from tests.integration.search.mirror.looking import catch_up_wholly, tampering, texts
from tests.support.corpus import make_workspace, write

GOING = threading.Event()


def age(files: MirrorFiles, name: str, *, hours: float) -> None:
    os.utime(files.directory / name, (time.time() - hours * 3600,) * 2)


def part(files: MirrorFiles) -> None:
    """Have the index say other words than the text, as no error tells of."""
    with tampering(files) as connection:
        connection.execute("UPDATE chunks_fts_content SET c3 = 'changed'")


@pytest.fixture
def mirrored(workspace, files):
    write(workspace, "a.md", "apple")
    sync_mirror(files, workspace.pk)
    return workspace


def test_those_unchecked_for_a_day_are_due_the_longest_first(mirrored, files, mirrors):
    other = make_workspace()
    others = MirrorFiles.of(mirrors, other.pk)
    sync_mirror(others, other.pk)
    assert due_checks(mirrors) == []
    age(files, "CURRENT", hours=25)
    age(others, "CURRENT", hours=30)
    assert due_checks(mirrors) == [other.pk, mirrored.pk]
    check_mirror(others, GOING)
    assert due_checks(mirrors) == [mirrored.pk]
    age(others, "CHECKED", hours=26)
    assert due_checks(mirrors) == [other.pk, mirrored.pk]


def test_a_sound_mirror_stays_as_it_is_and_its_copy_goes(mirrored, files, mirrors):
    check_mirror(files, GOING)
    assert texts(files) == {"a.md": ["apple"]}
    assert not list(mirrors.glob(".check-*"))


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE postings SET term = CAST(x'61ff' AS TEXT) WHERE term = 'appl'",
        "UPDATE chunks SET kind = 'unknown'",
        "UPDATE blocks SET block = 7",
        "UPDATE postings SET entries = x'01'",
    ],
)
def test_rows_that_mean_nothing_are_damage(mirrored, files, damage):
    with tampering(files) as connection:
        connection.execute(damage)
    with pytest.raises(MirrorDamaged):
        check_mirror(files, GOING)


def test_an_index_that_differs_from_its_text_is_found_damaged(mirrored, files, mirrors):
    part(files)
    age(files, "CURRENT", hours=25)
    with pytest.raises(MirrorDamaged):
        check_mirror(files, GOING)
    assert not list(mirrors.glob(".check-*"))
    # Should this process end before it is made anew, the next one is to find it, too.
    assert due_checks(mirrors) == [mirrored.pk]


def test_it_is_made_anew_by_whoever_follows_and_counted(mirrored, files, mirrors, monkeypatch):
    counted = []
    monkeypatch.setattr(sync, "REBUILDS", SimpleNamespace(add=counted.append))
    part(files)
    age(files, "CURRENT", hours=25)
    follower = MirrorFollower(mirrors, threading.Event())
    follower.catch_up()
    follower.check_one()
    wait(list(follower._checks._asked.values()), timeout=30)
    follower.check_one()
    catch_up_wholly(follower)
    assert (texts(files), counted) == ({"a.md": ["apple"]}, ["damaged"])


def test_writes_go_on_while_a_copy_is_checked(mirrored, files, monkeypatch):
    real, seen = checking.check_integrity, []

    def written_meanwhile(connection: apsw.Connection) -> None:
        write(mirrored, "b.md", "pear")
        seen.append(sync_mirror(files, mirrored.pk).documents)
        real(connection)

    monkeypatch.setattr(checking, "check_integrity", written_meanwhile)
    check_mirror(files, GOING)
    assert seen == [1]
    assert texts(files) == {"a.md": ["apple"], "b.md": ["pear"]}


def test_what_has_no_room_is_left_to_another_day(mirrored, files, mirrors, monkeypatch):
    def full(*_):
        raise apsw.FullError("database or disk is full")

    age(files, "CURRENT", hours=25)
    monkeypatch.setattr(checking, "_copy", full)
    check_mirror(files, GOING)
    assert due_checks(mirrors) == []
    assert not list(mirrors.glob(".check-*"))


def test_no_copy_is_made_where_it_would_leave_little_room(mirrored, files, mirrors, monkeypatch, caplog):
    age(files, "CURRENT", hours=25)
    free = 2 * files.size_bytes() - 1
    monkeypatch.setattr(checking.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    monkeypatch.setattr(checking, "_copy", lambda *_: pytest.fail("it is copied"))
    check_mirror(files, GOING)
    assert f"{free:,} bytes are free" in caplog.text
    assert due_checks(mirrors) == []


def test_what_ends_the_process_is_not_begun_with_by_the_next(mirrored, files, mirrors, monkeypatch):
    class Killed(BaseException):
        pass

    def killed(_):
        raise Killed

    age(files, "CURRENT", hours=25)
    monkeypatch.setattr(checking, "check_integrity", killed)
    with pytest.raises(Killed):
        check_mirror(files, GOING)
    assert due_checks(mirrors) == []


@pytest.mark.parametrize("step", ["_copy", "_check"])
def test_a_stop_ends_a_check_which_is_due_again(mirrored, files, mirrors, monkeypatch, step):
    stop, real = threading.Event(), getattr(checking, step)

    def stopped(*arguments):
        stop.set()
        real(*arguments)

    age(files, "CURRENT", hours=25)
    monkeypatch.setattr(checking, "_STEPS", 1)
    monkeypatch.setattr(checking, step, stopped)
    check_mirror(files, stop)
    assert due_checks(mirrors) == [mirrored.pk]
    assert not list(mirrors.glob(".check-*"))


def test_a_check_that_fails_for_whatever_reason_ends_no_follower(
    mirrored, files, mirrors, monkeypatch, caplog
):
    def broken(*_):
        raise MemoryError

    age(files, "CURRENT", hours=25)
    monkeypatch.setattr(follow, "check_mirror", broken)
    follower = MirrorFollower(mirrors, threading.Event())
    follower.check_one()
    wait(list(follower._checks._asked.values()), timeout=30)
    follower.check_one()
    assert f"mirror of {mirrored.pk} could not be checked" in caplog.text


def test_a_killed_check_leaves_nothing_for_long(mirrored, mirrors):
    (mirrors / ".check-left").mkdir()
    (mirrors / ".check-left" / "copy.sqlite3").write_text("apple")
    remove_copies(mirrors)
    assert not list(mirrors.glob(".check-*"))
