"""Mirrors whose indexes differ from their text where nobody stumbles on it, found by a look once a day."""

import os
import threading
import time
from concurrent.futures import wait
from types import SimpleNamespace

import apsw
import pytest

from search.mirror import checking, sync
from search.mirror.checking import check_mirror, due_checks, remove_copies
from search.mirror.errors import MirrorDamaged
from search.mirror.files import MirrorFiles
from search.mirror.follow import MirrorFollower
from search.mirror.sync import sync_mirror
from tests.corpus.making import make_workspace, write
from tests.mirror.looking import catch_up_wholly, tampering, texts


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
    check_mirror(others)
    assert due_checks(mirrors) == [mirrored.pk]
    age(others, "CHECKED", hours=26)
    assert due_checks(mirrors) == [other.pk, mirrored.pk]


def test_a_sound_mirror_stays_as_it_is_and_its_copy_goes(mirrored, files, mirrors):
    check_mirror(files)
    assert texts(files) == {"a.md": ["apple"]}
    assert not list(mirrors.glob(".check-*"))


def test_an_index_that_differs_from_its_text_is_found_damaged(mirrored, files, mirrors):
    part(files)
    with pytest.raises(MirrorDamaged):
        check_mirror(files)
    assert not list(mirrors.glob(".check-*"))


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
    check_mirror(files)
    assert seen == [1]
    assert texts(files) == {"a.md": ["apple"], "b.md": ["pear"]}


def test_what_has_no_room_is_left_to_another_day(mirrored, files, mirrors, monkeypatch):
    def full(*_):
        raise apsw.FullError("database or disk is full")

    age(files, "CURRENT", hours=25)
    monkeypatch.setattr(checking, "_copy", full)
    check_mirror(files)
    assert due_checks(mirrors) == []
    assert not list(mirrors.glob(".check-*"))


def test_a_killed_check_leaves_nothing_for_long(mirrored, mirrors):
    (mirrors / ".check-left").mkdir()
    (mirrors / ".check-left" / "copy.sqlite3").write_text("apple")
    remove_copies(mirrors)
    assert not list(mirrors.glob(".check-*"))
