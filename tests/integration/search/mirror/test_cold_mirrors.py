"""Mirrors that nobody uses are dropped, and made anew when a search asks for them."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from django.conf import settings as django_settings

from kebab.people.models import Workspace
from search import node
from search.mirror import cold
from search.mirror.cold import drop_cold
from search.mirror.errors import MirrorAbsent
from search.mirror.files import MirrorFiles
from search.mirror.follow import MirrorFollower
from search.mirror.sync import sync_mirror
from search.mirror.usage import RecentUse
from search.retrieval.types import Mode
from search.tasks import sync_mirror_task
from tests.integration.search.mirror.looking import reading, texts
from tests.support.corpus import make_workspace, write
from tests.support.searching import ask, embed, paths

DAY_S = 86_400


@pytest.fixture
def mirrored(workspace, files):
    write(workspace, "a.md", "apple")
    sync_mirror(files, workspace.pk)
    return workspace


def used(files, days_ago):
    """Have the mirror last used so long ago."""
    files.note_use()
    at = time.time() - days_ago * DAY_S
    os.utime(files.directory / "USED", (at, at))


def is_there(files):
    try:
        return files.current().exists()
    except MirrorAbsent:
        return False


def drop(mirrors, *, idle_days=0, limit_bytes=0):
    return drop_cold(mirrors, idle_days=idle_days, limit_bytes=limit_bytes)


def test_a_mirror_is_dropped_once_nobody_has_used_it_for_so_long(mirrored, files, mirrors):
    used(files, days_ago=29)
    assert drop(mirrors, idle_days=30) == 0
    used(files, days_ago=31)
    assert drop(mirrors) == 0
    assert drop(mirrors, idle_days=30) == 1
    assert not is_there(files)
    assert not files.directory.exists()


def test_a_clock_that_was_wrong_for_a_moment_costs_a_node_few_of_them(mirrored, files, mirrors, monkeypatch):
    monkeypatch.setattr(cold, "_IDLE_AT_ONCE", 1)
    other = make_workspace()
    write(other, "b.md", "pear")
    others = node.mirror_files(other.pk)
    sync_mirror(others, other.pk)
    used(files, days_ago=40)
    used(others, days_ago=50)
    assert drop(mirrors, idle_days=30) == 1
    assert (is_there(files), is_there(others)) == (True, False)


def test_searches_that_wait_for_one_first_mirror_hold_one_thread(workspace, files, mirrors):
    write(workspace, "a.md", "apple")
    with files.writing():
        builds = {node._sync_beside(workspace.pk, 30.0) for _ in range(10)}
        assert len(builds) == 1
    builds.pop().result(30)
    assert is_there(files)
    assert not node._syncs


def test_searches_that_find_a_mirror_behind_leave_one_sync(workspace, files, mirrors, monkeypatch):
    write(workspace, "a.md", "apple")
    may_go_on, synced = threading.Event(), []

    def slow(files, workspace_id, **_):
        synced.append(workspace_id)
        may_go_on.wait(30)

    monkeypatch.setattr(node, "sync_mirror", slow)
    for _ in range(100):
        node.trigger_sync(workspace.pk)
    assert node._sync_executor()._work_queue.qsize() <= 1
    going_on = node._syncs[workspace.pk]
    may_go_on.set()
    going_on.result(30)
    assert synced == [workspace.pk]


def test_one_that_was_never_used_counts_from_when_it_was_made(mirrored, files, mirrors):
    assert drop(mirrors, idle_days=1) == 0
    os.utime(files.directory / "CURRENT", (time.time() - 2 * DAY_S,) * 2)
    assert drop(mirrors, idle_days=1) == 1


def test_a_search_makes_a_dropped_mirror_anew_and_finds_by_its_words(mirrored, files, mirrors, settings):
    settings.KEBAB_LEG_LIMIT_MS = 60_000
    assert paths(ask(mirrored, "apple")) == ["a.md"]
    used(files, days_ago=31)
    assert drop(mirrors, idle_days=30) == 1
    found = ask(mirrored, "apple")
    assert (paths(found), found.degraded) == (["a.md"], ())
    assert is_there(files)
    assert not files.is_cold


def test_a_search_that_can_not_wait_for_the_mirror_answers_by_meaning_and_says_so(
    mirrored, files, mirrors, settings, monkeypatch
):
    settings.KEBAB_LEG_LIMIT_MS = 60_000
    embed(mirrored)
    used(files, days_ago=31)
    drop(mirrors, idle_days=30)
    monkeypatch.setattr(node, "_FIRST_MIRROR_S", 0.3)
    with files.writing():  # another process is still at it when the time is over
        found = ask(mirrored, "apple", Mode.HYBRID)
    assert paths(found) == ["a.md"]
    assert "lexical" in found.degraded


def test_the_least_recently_used_go_until_the_rest_fits(workspace, files, mirrors):
    several = [workspace, make_workspace(), make_workspace()]
    for days_ago, each in enumerate(several, 1):
        write(each, "a.md", "apple")
        others = MirrorFiles.of(mirrors, each.pk)
        sync_mirror(others, each.pk)
        used(others, days_ago=days_ago)
    size = files.size_bytes()
    assert size > 10_000
    assert drop(mirrors, limit_bytes=4 * size) == 0
    assert drop(mirrors, limit_bytes=2 * size + size // 2) == 1
    assert [is_there(MirrorFiles.of(mirrors, each.pk)) for each in several] == [True, True, False]


def test_room_is_made_by_those_that_nobody_uses_before_any_other(transactional_db, mirrors, monkeypatch):
    monkeypatch.setattr(cold, "_IDLE_AT_ONCE", 1)
    several = {days_ago: make_workspace() for days_ago in (1, 40, 50)}
    for days_ago, each in several.items():
        write(each, "a.md", "apple")
        others = MirrorFiles.of(mirrors, each.pk)
        sync_mirror(others, each.pk)
        used(others, days_ago=days_ago)
    size = others.size_bytes()
    assert drop(mirrors, idle_days=30, limit_bytes=size + size // 2) == 2
    there = [days for days, each in several.items() if is_there(MirrorFiles.of(mirrors, each.pk))]
    assert there == [1]


def test_what_was_used_a_moment_ago_stays_however_little_room_there_is(mirrored, files, mirrors, caplog):
    files.note_use()
    assert drop(mirrors, limit_bytes=1) == 0
    assert "KEBAB_MIRROR_LIMIT_BYTES" in caplog.text


def test_a_mirror_is_not_dropped_under_a_reader_or_a_writer(mirrored, files, mirrors):
    used(files, days_ago=31)
    with node.reader_pool().reader(files.current()):
        assert drop(mirrors, idle_days=30) == 0
    with files.writing():
        assert drop(mirrors, idle_days=30) == 0
    with files.in_use():
        assert drop(mirrors, idle_days=30) == 0
    assert texts(files) == {"a.md": ["apple"]}
    assert drop(mirrors, idle_days=30) == 1


def test_who_waited_for_the_writers_lock_of_a_dropped_mirror_gets_that_of_the_new_one(mirrored, files):
    holds, released, acquired = threading.Event(), threading.Event(), threading.Event()

    def drop_while_another_waits():
        with files.writing():
            holds.set()
            released.wait(30)
            assert files.drop()

    def wait():
        with files.writing(30):
            acquired.set()
            assert (files.directory / "writer.lock").exists()

    dropping = threading.Thread(target=drop_while_another_waits)
    dropping.start()
    assert holds.wait(30)
    waiting = threading.Thread(target=wait)
    waiting.start()
    released.set()
    dropping.join(30)
    waiting.join(30)
    assert acquired.is_set()


def test_who_can_not_open_the_lock_of_the_new_one_closes_no_file_of_others(files, monkeypatch):
    real, others = MirrorFiles._lock_file, []

    def opened(mirror):
        if not others and not mirror.directory.exists():
            return real(mirror)
        others.append(os.open("/dev/null", os.O_RDONLY))  # as another thread does at that moment
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(MirrorFiles, "_lock_file", opened)
    monkeypatch.setattr(MirrorFiles, "_is_lock_file", lambda mirror, descriptor: False)
    with pytest.raises(OSError, match="Too many open files"), files.writing():
        raise AssertionError("it is not held")
    os.close(others.pop())  # it is open still


def test_writes_alone_do_not_make_a_dropped_mirror_anew(mirrored, files, mirrors):
    used(files, days_ago=31)
    drop(mirrors, idle_days=30)
    write(mirrored, "b.md", "pear")
    sync_mirror_task(str(mirrored.pk))
    MirrorFollower(mirrors, threading.Event()).catch_up()
    assert not is_there(files)
    sync_mirror(files, mirrored.pk)
    assert texts(files) == {"a.md": ["apple"], "b.md": ["pear"]}
    write(mirrored, "c.md", "plum")
    sync_mirror_task(str(mirrored.pk))
    assert "c.md" in texts(files)


DROPPING = """
import os, shutil, signal, sys, time
from pathlib import Path
from search.mirror.files import MirrorFiles
name = sys.argv[2]
def killed(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
{
    "rmtree": lambda: setattr(shutil, "rmtree", killed),
    "unlink": lambda: setattr(Path, "unlink", killed),
}[name]()
files = MirrorFiles(Path(sys.argv[1]))
with files.writing():
    files.drop()
"""


@pytest.mark.parametrize("step", ["unlink", "rmtree"])
def test_whoever_is_killed_while_dropping_leaves_what_can_be_made_anew(mirrored, files, mirrors, step):
    arguments = [sys.executable, "-c", DROPPING, str(files.directory), step]
    assert subprocess.run(arguments, cwd=django_settings.BASE_DIR, check=False).returncode == -signal.SIGKILL
    write(mirrored, "b.md", "pear")
    node.ensure_mirror(mirrored.pk, 2)
    MirrorFollower(mirrors, threading.Event()).catch_up()
    assert texts(files) == {"a.md": ["apple"], "b.md": ["pear"]}


def test_the_mark_of_a_dropped_mirror_goes_with_its_workspace_on_every_node(mirrored, files, mirrors):
    kept = make_workspace()
    for each in (mirrored, kept):
        others = node.mirror_files(each.pk)
        sync_mirror(others, each.pk)
        with others.writing():
            others.drop()
    follower = MirrorFollower(mirrors, threading.Event())
    follower.catch_up()
    assert files.is_cold
    Workspace.objects.filter(pk=mirrored.pk).delete()  # by another node, which has other files
    follower.catch_up()
    assert not files.is_cold
    assert node.mirror_files(kept.pk).is_cold


def test_use_is_noted_once_in_a_while(mirrored, files):
    used(files, days_ago=5)
    before = files.last_used()
    recent = RecentUse(node.mirror_files, every_s=3600)
    recent.note(mirrored.pk)
    noted = files.last_used()
    assert noted > before
    used(files, days_ago=5)
    recent.note(mirrored.pk)
    assert files.last_used() < noted
    RecentUse(node.mirror_files, every_s=3600).note(mirrored.pk)
    assert files.last_used() >= noted


def test_a_search_is_a_use_and_following_is_none(mirrored, files, mirrors, settings):
    settings.KEBAB_LEG_LIMIT_MS = 60_000
    MirrorFollower(mirrors, threading.Event()).catch_up()
    assert not (files.directory / "USED").exists()
    node.recent_use.cache_clear()
    ask(mirrored, "apple")
    assert (files.directory / "USED").exists()


def test_a_reader_that_is_in_it_when_its_folder_goes_reads_on(mirrored, files):
    with reading(files) as reader:
        files.remove_all()
        assert reader.execute("SELECT count(*) FROM chunks").fetchone() == (1,)
