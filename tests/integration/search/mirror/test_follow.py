"""The process that keeps a node's mirrors current."""

import threading
import time
from concurrent.futures import wait
from types import SimpleNamespace

import pytest

from kebab.identity.models import Workspace
from search.corpus import delete_documents
from search.mirror.files import MirrorFiles
from search.mirror.sync import follow, sync
from search.mirror.sync.follow import MirrorFollower
from search.mirror.sync.sync import rebuild_mirror, sync_mirror
from search.models import Change, Document
from tests.integration.search.mirror.inspection import (
    age,
    catch_up_completely,
    generations,
    raw_bytes,
    reading,
    texts,
)
from tests.support.corpus import make_workspace, write


@pytest.fixture
def files(files, workspace):
    """Return the files of a mirror that is current."""
    sync_mirror(files, workspace.pk)
    return files


@pytest.fixture
def other(mirrors):
    """Return another workspace with a mirror, and its files."""
    workspace = make_workspace()
    files = MirrorFiles.of(mirrors, workspace.pk)
    sync_mirror(files, workspace.pk)
    return workspace, files


@pytest.fixture
def follower(mirrors):
    return MirrorFollower(mirrors, threading.Event())


@pytest.fixture
def syncs(files, monkeypatch):
    """Return the list of synced workspaces, in order."""
    seen, real = [], sync.sync_mirror

    def note_sync(files, workspace_id, **options):
        seen.append(workspace_id)
        return real(files, workspace_id, **options)

    monkeypatch.setattr(sync, "sync_mirror", note_sync)
    return seen


@pytest.fixture
def clock(monkeypatch):
    """Return the follower's clock, set by hand."""
    clock = SimpleNamespace(now=1_000.0)
    patched = SimpleNamespace(monotonic=lambda: clock.now, time_ns=time.time_ns, sleep=lambda seconds: None)
    monkeypatch.setattr(follow, "time", patched)
    return clock


def change_index(workspace):
    """Change a setting that requires a new mirror."""
    Workspace.objects.filter(pk=workspace.pk).update(settings={"stemming": False})


def test_follower_looks_only_at_mirrors_that_are_behind(workspace, files, follower, syncs):
    write(workspace, "a.md", "one")
    follower.catch_up()
    assert texts(files) == {"a.md": ["one"]}
    follower.catch_up()
    assert syncs == [workspace.pk]
    write(workspace, "a.md", "two")
    follower.catch_up()
    assert syncs == [workspace.pk] * 2


def test_mirror_of_a_deleted_workspace_is_removed_and_none_built_unasked(workspace, files, follower, mirrors):
    write(make_workspace(), "a.md", "one")
    (mirrors / "lost+found").mkdir()
    Workspace.objects.filter(pk=workspace.pk).delete()
    follower.catch_up()
    assert [entry.name for entry in mirrors.iterdir()] == ["lost+found"]


def test_mirror_that_another_process_writes_is_looked_at_again(workspace, files, follower):
    write(workspace, "a.md", "one")
    with files.write_lock():
        follower.catch_up()
    assert texts(files) == {}
    follower.catch_up()
    assert texts(files) == {"a.md": ["one"]}


def test_one_mirror_that_cannot_be_written_does_not_stop_the_others(
    workspace, files, other, follower, monkeypatch
):
    for each in (workspace, other[0]):
        write(each, "a.md", "one")
    real = sync.sync_mirror

    def full_disk(files, workspace_id, **options):
        if workspace_id == workspace.pk:
            raise OSError("disk full")
        return real(files, workspace_id, **options)

    with monkeypatch.context() as patched:
        patched.setattr(sync, "sync_mirror", full_disk)
        follower.catch_up()
    assert (texts(files), texts(other[1])) == ({}, {"a.md": ["one"]})
    follower.catch_up()
    assert texts(files) == {"a.md": ["one"]}


def test_erasure_that_a_reader_held_up_is_finished_later(workspace, files, follower):
    write(workspace, "a.md", "unrepeatable")
    sync_mirror(files, workspace.pk)
    with reading(files) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM chunks").fetchall()
        delete_documents(workspace, [Document.objects.get().doc_id])
        follower.catch_up()
        reader.execute("ROLLBACK")
        follower.catch_up()
        assert all(b"unrepeatable" not in path.read_bytes() for path in files.directory.glob("*-wal"))
    assert b"unrepeatable" not in raw_bytes(files)


def test_old_generations_of_a_workspace_that_nobody_writes_to_are_removed(workspace, files, follower):
    rebuild_mirror(files, workspace.pk)
    follower.catch_up()
    assert len(generations(files)) == 2
    age(files.directory / "CURRENT", hours=1)
    follower.catch_up()
    assert generations(files) == {files.current().name}


def test_follower_is_notified_of_a_change_and_stops_on_request(workspace, files, mirrors, monkeypatch):
    stop, caught_up = threading.Event(), threading.Semaphore(0)
    follower = MirrorFollower(mirrors, stop)
    real = follower.catch_up

    def catch_up_and_say_so():
        real()
        caught_up.release()

    monkeypatch.setattr("search.mirror.sync.follow.POLL_S", 30.0)  # so that only a notification can wake it
    monkeypatch.setattr(follower, "catch_up", catch_up_and_say_so)
    thread = threading.Thread(target=follower.run)
    thread.start()
    try:
        assert caught_up.acquire(timeout=30)
        write(workspace, "a.md", "one")
        assert caught_up.acquire(timeout=30)
        assert texts(files) == {"a.md": ["one"]}
    finally:
        stop.set()
        write(workspace, "b.md", "wakes it for the last time")
        thread.join(30)
    assert not thread.is_alive()


def test_log_heads_are_not_read_while_unchanged(files, follower, monkeypatch):
    read, read_heads = [], follow.read_heads

    def note_heads(among=None):
        read.append(among)
        return read_heads(among)

    monkeypatch.setattr(follow, "read_heads", note_heads)
    follower.catch_up()
    before = len(read)
    follower.catch_up()
    assert len(read) == before
    write(make_workspace(), "a.md", "one")  # of which this node has no mirror
    follower.catch_up()
    assert len(read) == before + 1


def test_notification_syncs_only_its_workspace(workspace, other, follower, syncs):
    follower.catch_up()
    syncs.clear()
    for each in (workspace, other[0]):
        write(each, "a.md", "one")
    follower._notified = {workspace.pk}
    assert follower.catch_up()
    assert syncs == [workspace.pk]
    follower.catch_up()
    assert syncs == [workspace.pk, other[0].pk]


@pytest.fixture
def reconnect(follower, monkeypatch):
    """Return a function that connects the follower to a server of another start time, and disconnects."""

    def reconnect_as(started):
        monkeypatch.setattr(follow, "_SERVER", f"SELECT '{started}'")
        follower._stop.set()
        follower._follow_while_connected()
        follower._stop.clear()

    return reconnect_as


def test_restored_log_with_the_same_head_is_followed_again(workspace, files, follower, reconnect):
    write(workspace, "a.md", "one")
    sync_mirror(files, workspace.pk)
    reconnect("monday")
    follower.catch_up()
    Document.objects.all().delete()
    Change.objects.all().delete()
    Workspace.objects.update(head_seq=0)
    write(workspace, "b.md", "another history")
    reconnect("tuesday")
    catch_up_completely(follower)
    assert texts(files) == {"b.md": ["another history"]}


def test_reconnecting_does_not_sync_current_mirrors_again(workspace, follower, syncs, reconnect):
    for _ in range(2):
        reconnect("monday")
        follower.catch_up()
    assert syncs == [workspace.pk]


def test_slow_check_of_heads_does_not_delay_the_next_one(files, follower, clock, monkeypatch):
    heads_digest = follow.heads_digest

    def hang():
        clock.now += 30.0
        return heads_digest()

    monkeypatch.setattr(follow, "heads_digest", hang)
    began = clock.now
    follower.catch_up()
    assert follower._check_heads_at <= began + 10.0


def test_failing_sync_is_retried_with_growing_delays(workspace, files, follower, syncs, clock):
    rebuild_mirror(files, workspace.pk)  # whose old generation stays for a minute
    for second in range(30):
        clock.now += second and 1
        follower.catch_up()
    assert 4 <= len(syncs) <= 7


def test_failing_mirror_build_is_retried_with_growing_delays(workspace, files, follower, clock, monkeypatch):
    tasks = []

    def full(*given, **named):
        tasks.append(given)
        raise OSError("No space left on device")

    change_index(workspace)
    monkeypatch.setattr(sync, "_rebuild", full)
    for _ in range(30):
        clock.now += 1
        catch_up_completely(follower)
    assert 3 <= len(tasks) <= 8


@pytest.fixture
def rebuild_gate(files, other, monkeypatch):
    """Return the event that background rebuilds wait for."""
    may_go_on, build = threading.Event(), sync._rebuild

    def slow(*given, **named):
        assert may_go_on.wait(30)
        return build(*given, **named)

    monkeypatch.setattr(sync, "_rebuild", slow)
    yield may_go_on
    may_go_on.set()


def test_rebuild_of_a_mirror_delays_no_other(workspace, files, other, follower, rebuild_gate):
    before = files.current()
    change_index(workspace)
    write(workspace, "a.md", "one")
    follower.catch_up()
    write(other[0], "b.md", "two")
    follower.catch_up()
    assert (texts(files), texts(other[1])) == ({}, {"b.md": ["two"]})
    rebuild_gate.set()
    catch_up_completely(follower)
    assert texts(files) == {"a.md": ["one"]}
    assert files.current() != before


def test_change_written_while_a_mirror_was_made_follows(workspace, files, follower, rebuild_gate):
    change_index(workspace)
    follower.catch_up()
    rebuild_gate.set()
    wait(list(follower._long_syncs._tasks.values()), timeout=30)
    write(workspace, "a.md", "one")
    follower._check_all_heads()  # which finds it behind, and busy
    catch_up_completely(follower)
    assert texts(files) == {"a.md": ["one"]}


def test_mirror_far_behind_follows_in_the_background(workspace, files, follower, monkeypatch):
    monkeypatch.setattr(sync, "_BRIEF_BACKLOG", 1)
    before = files.current()
    write(workspace, "a.md", "one")
    write(workspace, "b.md", "two")
    follower.catch_up()
    assert workspace.pk in follower._long_syncs
    catch_up_completely(follower)
    assert (texts(files), files.current()) == ({"a.md": ["one"], "b.md": ["two"]}, before)
