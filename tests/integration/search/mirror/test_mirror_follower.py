"""The process that keeps a node's mirrors current."""

import os
import threading
import time
from concurrent.futures import wait
from types import SimpleNamespace

import pytest

from kebab.people.models import Workspace
from search.corpus import delete_documents
from search.mirror import follow, heads, sync
from search.mirror.files import MirrorFiles
from search.mirror.follow import MirrorFollower
from search.mirror.sync import rebuild_mirror, sync_mirror
from search.models import Change, Document
from tests.integration.search.mirror.looking import catch_up_wholly, generations, raw_bytes, reading, texts
from tests.support.corpus import make_workspace, write


@pytest.fixture
def follower(mirrors):
    return MirrorFollower(mirrors, threading.Event())


@pytest.fixture
def syncs(monkeypatch):
    """Which workspaces were synced, in order."""
    seen, real = [], sync.sync_mirror

    def counted(files, workspace_id, **options):
        seen.append(workspace_id)
        return real(files, workspace_id, **options)

    monkeypatch.setattr(sync, "sync_mirror", counted)
    return seen


def test_it_brings_mirrors_that_are_behind_up_to_date(workspace, files, follower):
    sync_mirror(files, workspace.pk)
    write(workspace, "a.md", "one")
    follower.catch_up()
    assert texts(files) == {"a.md": ["one"]}


def test_it_looks_only_at_mirrors_that_are_behind(workspace, files, follower, syncs):
    sync_mirror(files, workspace.pk)
    follower.catch_up()
    follower.catch_up()
    assert syncs == [workspace.pk]
    write(workspace, "a.md", "one")
    follower.catch_up()
    assert syncs == [workspace.pk] * 2


def test_it_builds_no_mirror_that_nobody_asked_for(workspace, files, follower):
    write(workspace, "a.md", "one")
    follower.catch_up()
    assert not files.directory.exists()


def test_it_removes_the_mirror_of_a_workspace_that_is_gone(workspace, files, follower, mirrors):
    sync_mirror(files, workspace.pk)
    (mirrors / "lost+found").mkdir()
    Workspace.objects.filter(pk=workspace.pk).delete()
    follower.catch_up()
    assert [entry.name for entry in mirrors.iterdir()] == ["lost+found"]


def test_a_mirror_that_another_process_writes_is_looked_at_again(workspace, files, follower):
    sync_mirror(files, workspace.pk)
    write(workspace, "a.md", "one")
    with files.writing():
        follower.catch_up()
    assert texts(files) == {}
    follower.catch_up()
    assert texts(files) == {"a.md": ["one"]}


def test_one_mirror_that_cannot_be_written_does_not_stop_the_others(
    workspace, files, follower, mirrors, monkeypatch
):
    other = make_workspace()
    others = MirrorFiles.of(mirrors, other.pk)
    for each in (workspace, other):
        sync_mirror(MirrorFiles.of(mirrors, each.pk), each.pk)
        write(each, "a.md", "one")
    real = sync.sync_mirror

    def full_disk(files, workspace_id, **options):
        if workspace_id == workspace.pk:
            raise OSError("disk full")
        return real(files, workspace_id, **options)

    monkeypatch.setattr(sync, "sync_mirror", full_disk)
    follower.catch_up()
    assert (texts(files), texts(others)) == ({}, {"a.md": ["one"]})
    monkeypatch.undo()
    follower.catch_up()
    assert texts(files) == {"a.md": ["one"]}


def test_it_comes_back_to_an_erasure_that_a_reader_held_up(workspace, files, follower):
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


def test_it_removes_old_generations_of_a_workspace_that_nobody_writes_to(workspace, files, follower):
    sync_mirror(files, workspace.pk)
    rebuild_mirror(files, workspace.pk)
    follower.catch_up()
    assert len(generations(files)) == 2
    os.utime(files.directory / "CURRENT", (time.time() - 3600,) * 2)
    follower.catch_up()
    assert generations(files) == {files.current().name}


def test_it_hears_of_a_change_and_stops_when_told(workspace, files, mirrors, monkeypatch):
    sync_mirror(files, workspace.pk)
    stop, caught_up = threading.Event(), threading.Semaphore(0)
    follower = MirrorFollower(mirrors, stop)
    real = follower.catch_up

    def catch_up_and_say_so():
        real()
        caught_up.release()

    monkeypatch.setattr("search.mirror.follow.POLL_S", 30.0)  # so that only a notification can wake it
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


def test_it_reads_no_heads_while_none_has_moved(workspace, files, follower, monkeypatch):
    read = []

    def counted(among=None):
        read.append(among)
        return heads.read_heads(among)

    monkeypatch.setattr(follow, "read_heads", counted)
    sync_mirror(files, workspace.pk)
    follower.catch_up()
    before = len(read)
    follower.catch_up()
    assert len(read) == before
    write(make_workspace(), "a.md", "one")  # of which this node has no mirror
    follower.catch_up()
    assert len(read) == before + 1


def test_a_notification_has_its_own_workspace_looked_at_alone(workspace, files, follower, syncs):
    other = make_workspace()
    others = MirrorFiles.of(files.directory.parent, other.pk)
    for each, of in ((workspace, files), (other, others)):
        sync_mirror(of, each.pk)
    follower.catch_up()
    syncs.clear()
    for each in (workspace, other):
        write(each, "a.md", "one")
    follower._heard = {workspace.pk}
    assert follower.catch_up()
    assert syncs == [workspace.pk]
    follower.catch_up()
    assert syncs == [workspace.pk, other.pk]


def test_a_setting_that_changes_the_index_is_seen(workspace, files, follower):
    write(workspace, "a.md", "running")
    sync_mirror(files, workspace.pk)
    follower.catch_up()
    before = files.current()
    Workspace.objects.filter(pk=workspace.pk).update(settings={"stemming": False})
    catch_up_wholly(follower)
    assert files.current() != before


@pytest.fixture
def reconnect(follower, monkeypatch):
    """Connect the follower to a server that has started then, and leave again."""

    def reconnected(started):
        monkeypatch.setattr(follow, "_SERVER", f"SELECT '{started}'")
        follower._stop.set()
        follower._follow_while_connected()
        follower._stop.clear()

    return reconnected


def test_the_same_number_in_a_log_that_was_restored_is_another_one(workspace, files, follower, reconnect):
    write(workspace, "a.md", "one")
    sync_mirror(files, workspace.pk)
    reconnect("monday")
    follower.catch_up()
    Document.objects.all().delete()
    Change.objects.all().delete()
    Workspace.objects.update(head_seq=0)
    write(workspace, "b.md", "another history")
    reconnect("tuesday")
    catch_up_wholly(follower)
    assert texts(files) == {"b.md": ["another history"]}


def test_a_connection_that_broke_costs_no_look_at_mirrors_that_are_current(
    workspace, files, follower, syncs, reconnect
):
    sync_mirror(files, workspace.pk)
    for _ in range(2):
        reconnect("monday")
        follower.catch_up()
    assert syncs == [workspace.pk]


def test_a_look_that_hung_does_not_put_off_the_next_for_long(workspace, files, follower, monkeypatch):
    now = time.monotonic()
    clock = SimpleNamespace(monotonic=lambda: now, time_ns=time.time_ns, sleep=time.sleep)
    monkeypatch.setattr(follow, "time", clock)

    def hung():
        nonlocal now
        now += 30.0
        return heads.heads_digest()

    monkeypatch.setattr(follow, "heads_digest", hung)
    began = now
    follower.catch_up()
    assert follower._look_at <= began + 10.0


def test_what_can_not_be_settled_is_tried_less_and_less_often(workspace, files, follower, syncs, monkeypatch):
    sync_mirror(files, workspace.pk)
    rebuild_mirror(files, workspace.pk)  # whose old generation stays for a minute
    now = time.monotonic()
    clock = SimpleNamespace(monotonic=lambda: now, time_ns=time.time_ns, sleep=time.sleep)
    monkeypatch.setattr(follow, "time", clock)
    for second in range(30):
        now += second and 1
        follower.catch_up()
    assert 4 <= len(syncs) <= 7


@pytest.fixture
def held_up(monkeypatch):
    """Hold up what is made beside until it is set."""
    may_go_on, build = threading.Event(), sync._build

    def slow(*given, **named):
        assert may_go_on.wait(30)
        return build(*given, **named)

    monkeypatch.setattr(sync, "_build", slow)
    yield may_go_on
    may_go_on.set()


def test_a_mirror_that_is_made_anew_holds_up_no_other(workspace, files, follower, mirrors, held_up):
    other = make_workspace()
    others = MirrorFiles.of(mirrors, other.pk)
    held_up.set()
    for each in (workspace, other):
        sync_mirror(MirrorFiles.of(mirrors, each.pk), each.pk)
    held_up.clear()
    Workspace.objects.filter(pk=workspace.pk).update(settings={"stemming": False})
    write(workspace, "a.md", "one")
    follower.catch_up()
    write(other, "b.md", "two")
    follower.catch_up()
    assert (texts(files), texts(others)) == ({}, {"b.md": ["two"]})
    held_up.set()
    catch_up_wholly(follower)
    assert texts(files) == {"a.md": ["one"]}


def test_what_was_written_while_a_mirror_was_made_follows(workspace, files, follower, held_up):
    held_up.set()
    sync_mirror(files, workspace.pk)
    held_up.clear()
    Workspace.objects.filter(pk=workspace.pk).update(settings={"stemming": False})
    follower.catch_up()
    held_up.set()
    wait(list(follower._long._asked.values()), timeout=30)
    write(workspace, "a.md", "one")
    follower._look_at_all()  # which finds it behind, and busy
    catch_up_wholly(follower)
    assert texts(files) == {"a.md": ["one"]}


def test_one_that_is_far_behind_follows_beside(workspace, files, follower, monkeypatch):
    monkeypatch.setattr(sync, "_BRIEF_BACKLOG", 1)
    sync_mirror(files, workspace.pk)
    before = files.current()
    write(workspace, "a.md", "one")
    write(workspace, "b.md", "two")
    follower.catch_up()
    assert workspace.pk in follower._long
    catch_up_wholly(follower)
    assert (texts(files), files.current()) == ({"a.md": ["one"], "b.md": ["two"]}, before)


def test_one_that_can_not_be_made_is_tried_less_and_less_often(workspace, files, follower, monkeypatch):
    begun = []

    def full(*given, **named):
        begun.append(given)
        raise OSError("No space left on device")

    sync_mirror(files, workspace.pk)
    Workspace.objects.filter(pk=workspace.pk).update(settings={"stemming": False})
    now = time.monotonic()
    clock = SimpleNamespace(monotonic=lambda: now, time_ns=time.time_ns, sleep=lambda seconds: None)
    monkeypatch.setattr(follow, "time", clock)
    monkeypatch.setattr(sync, "_build", full)
    for _ in range(30):
        now += 1
        catch_up_wholly(follower)
    assert 3 <= len(begun) <= 8
