"""Unused mirrors are evicted, and rebuilt when a search needs them."""

import errno
import os
import threading
from pathlib import Path

import pytest

from kebab.identity.models import Workspace
from search.mirror import files as mirror_files
from search.mirror import local_mirrors
from search.mirror.files import MirrorAbsent, MirrorFiles
from search.mirror.sync import follow
from search.mirror.sync.follow import MirrorFollower, evict_unused
from search.mirror.sync.last_used import UseRecorder
from search.mirror.sync.sync import sync_mirror
from search.retrieval.types import Mode
from search.tasks import sync_mirror_task
from tests.integration.search.mirror.inspection import age, reading, texts
from tests.support.corpus import make_workspace, write
from tests.support.runtime import renew_runtime
from tests.support.search import ask, embed, paths


@pytest.fixture
def mirrored_workspace(workspace, files):
    write(workspace, "a.md", "apple")
    sync_mirror(files, workspace.pk)
    return workspace


def use(files, days_ago):
    """Set the last use of the mirror back by days."""
    files.record_use()
    age(files.directory / "USED", hours=24 * days_ago)


def mirrors_used(mirrors, *days_ago):
    """Mirror a new workspace for each number of days since its last use."""
    made = []
    for days in days_ago:
        workspace = make_workspace()
        write(workspace, "a.md", "apple")
        made.append(MirrorFiles.of(mirrors, workspace.pk))
        sync_mirror(made[-1], workspace.pk)
        use(made[-1], days)
    return made


def is_there(files):
    try:
        return files.current().exists()
    except MirrorAbsent:
        return False


def evict(mirrors, *, idle_days=0, limit_bytes=0):
    return evict_unused(mirrors, idle_days=idle_days, limit_bytes=limit_bytes)


def test_idle_mirror_is_evicted_after_its_limit(mirrored_workspace, files, mirrors):
    assert evict(mirrors, idle_days=1) == 0  # never used, it counts from when it was made
    age(files.directory / "CURRENT", hours=48)
    use(files, days_ago=29)
    assert evict(mirrors, idle_days=30) == 0
    use(files, days_ago=31)
    assert evict(mirrors) == 0
    assert evict(mirrors, idle_days=30) == 1
    assert not is_there(files)
    assert not files.directory.exists()
    sync_mirror(files, mirrored_workspace.pk)
    age(files.directory / "CURRENT", hours=48)
    assert evict(mirrors, idle_days=1) == 1


def test_eviction_for_idleness_is_limited_per_run(transactional_db, mirrors, monkeypatch):
    monkeypatch.setattr(follow, "_IDLE_AT_ONCE", 1)
    made = mirrors_used(mirrors, 40, 50)
    assert evict(mirrors, idle_days=30) == 1
    assert [is_there(each) for each in made] == [True, False]


def test_searches_that_wait_for_one_first_mirror_hold_one_thread(workspace, files, mirrors):
    write(workspace, "a.md", "apple")
    with files.write_lock():
        builds = {local_mirrors._sync_in_background(workspace.pk, 30.0) for _ in range(10)}
        assert len(builds) == 1
    builds.pop().result(30)
    assert is_there(files)
    assert not local_mirrors._syncs


def test_searches_on_a_lagging_mirror_start_one_sync(workspace, mirrors, monkeypatch):
    write(workspace, "a.md", "apple")
    may_go_on, synced = threading.Event(), []

    def slow(files, workspace_id, **_):
        synced.append(workspace_id)
        may_go_on.wait(30)

    monkeypatch.setattr(local_mirrors, "sync_mirror", slow)
    for _ in range(100):
        local_mirrors.trigger_sync(workspace.pk)
    assert local_mirrors._sync_executor()._work_queue.qsize() <= 1
    going_on = local_mirrors._syncs[workspace.pk]
    may_go_on.set()
    going_on.result(30)
    assert synced == [workspace.pk]


def test_search_counts_as_use_and_rebuilds_an_evicted_mirror(mirrored_workspace, files, mirrors):
    MirrorFollower(mirrors, threading.Event()).catch_up()
    assert not (files.directory / "USED").exists()  # following is none
    renew_runtime()
    assert paths(ask(mirrored_workspace, "apple")) == ["a.md"]
    assert (files.directory / "USED").exists()
    use(files, days_ago=31)
    assert evict(mirrors, idle_days=30) == 1
    found = ask(mirrored_workspace, "apple")
    assert (paths(found), found.degraded) == (["a.md"], ())
    assert is_there(files)
    assert not files.is_evicted


def test_search_that_can_not_wait_for_the_mirror_answers_by_meaning(
    mirrored_workspace, files, mirrors, monkeypatch
):
    embed(mirrored_workspace)
    use(files, days_ago=31)
    evict(mirrors, idle_days=30)
    monkeypatch.setattr(local_mirrors, "_FIRST_MIRROR_S", 0.05)
    with files.write_lock():  # another process is still at it when the time is over
        found = ask(mirrored_workspace, "apple", Mode.HYBRID)
    assert (paths(found), found.degraded) == (["a.md"], ("lexical",))


def test_least_recently_used_mirrors_are_evicted_until_the_size_limit_fits(transactional_db, mirrors):
    made = mirrors_used(mirrors, 1, 2, 3)
    size = made[0].size_bytes()
    assert size > 10_000
    assert evict(mirrors, limit_bytes=4 * size) == 0
    assert evict(mirrors, limit_bytes=2 * size + size // 2) == 1
    assert [is_there(each) for each in made] == [True, True, False]


def test_size_limit_evicts_idle_mirrors_first(transactional_db, mirrors, monkeypatch):
    monkeypatch.setattr(follow, "_IDLE_AT_ONCE", 1)
    made = mirrors_used(mirrors, 1, 40, 50)
    size = made[0].size_bytes()
    assert evict(mirrors, idle_days=30, limit_bytes=size + size // 2) == 2
    assert [is_there(each) for each in made] == [True, False, False]


def test_recently_used_mirror_is_not_evicted_for_size(mirrored_workspace, files, mirrors, caplog):
    files.record_use()
    assert evict(mirrors, limit_bytes=1) == 0
    assert "KEBAB_MIRROR_LIMIT_BYTES" in caplog.text


def test_mirror_is_not_dropped_under_a_reader_or_a_writer(mirrored_workspace, files, mirrors):
    use(files, days_ago=31)
    for held in (local_mirrors.reader_pool().reader(files.current()), files.write_lock(), files.read_lock()):
        with held:
            assert evict(mirrors, idle_days=30) == 0
    assert texts(files) == {"a.md": ["apple"]}
    assert evict(mirrors, idle_days=30) == 1


def test_reader_goes_on_when_its_folder_is_removed(mirrored_workspace, files):
    with reading(files) as reader:
        files.delete_all()
        assert reader.execute("SELECT count(*) FROM chunks").fetchone() == (1,)


def test_waiter_for_the_lock_of_an_evicted_mirror_gets_the_new_lock(mirrored_workspace, files):
    holds, released, acquired = threading.Event(), threading.Event(), threading.Event()

    def drop_while_another_waits():
        with files.write_lock():
            holds.set()
            released.wait(30)
            assert files.evict()

    def wait():
        with files.write_lock(30):
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


def test_lock_is_taken_when_its_folder_is_removed_before_the_file_is_opened(files, monkeypatch):
    real, removed = Path.mkdir, []

    def make_and_remove_once(folder, *args, **options):
        real(folder, *args, **options)
        if folder == files.directory and not removed:
            removed.append(folder)
            folder.rmdir()

    monkeypatch.setattr(Path, "mkdir", make_and_remove_once)
    with files.write_lock():
        assert removed == [files.directory]
        assert (files.directory / "writer.lock").exists()


def test_failed_opening_of_a_lock_closes_no_foreign_descriptor(files, monkeypatch):
    real, others = MirrorFiles._open_lock_file, []

    def open_and_fail_later(mirror):
        if not others and not mirror.directory.exists():
            return real(mirror)
        others.append(os.open("/dev/null", os.O_RDONLY))  # as another thread does at that moment
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(MirrorFiles, "_open_lock_file", open_and_fail_later)
    monkeypatch.setattr(mirror_files, "is_at", lambda path, descriptor: False)
    with pytest.raises(OSError, match=str(errno.EMFILE)), files.write_lock():
        raise AssertionError("it is not held")
    os.close(others.pop())  # it is open still


def test_writes_do_not_rebuild_an_evicted_mirror(mirrored_workspace, files, mirrors):
    use(files, days_ago=31)
    evict(mirrors, idle_days=30)
    write(mirrored_workspace, "b.md", "pear")
    sync_mirror_task(str(mirrored_workspace.pk))
    MirrorFollower(mirrors, threading.Event()).catch_up()
    assert not is_there(files)
    sync_mirror(files, mirrored_workspace.pk)
    assert texts(files) == {"a.md": ["apple"], "b.md": ["pear"]}
    write(mirrored_workspace, "c.md", "plum")
    sync_mirror_task(str(mirrored_workspace.pk))
    assert "c.md" in texts(files)


@pytest.mark.parametrize("step", ["pathlib.Path.unlink", "shutil.rmtree"])
def test_killed_eviction_leaves_a_mirror_that_can_be_rebuilt(
    mirrored_workspace, files, mirrors, monkeypatch, step
):
    class Killed(BaseException):
        pass

    def kill(*_, **__):
        raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed), files.write_lock():
        patched.setattr(step, kill)
        files.evict()
    write(mirrored_workspace, "b.md", "pear")
    local_mirrors.ensure_mirror(mirrored_workspace.pk, 2)
    MirrorFollower(mirrors, threading.Event()).catch_up()
    assert texts(files) == {"a.md": ["apple"], "b.md": ["pear"]}


def test_eviction_mark_is_deleted_with_its_workspace_on_every_node(mirrored_workspace, files, mirrors):
    kept = make_workspace()
    for each in (mirrored_workspace, kept):
        others = local_mirrors.mirror_files(each.pk)
        sync_mirror(others, each.pk)
        with others.write_lock():
            others.evict()
    follower = MirrorFollower(mirrors, threading.Event())
    follower.catch_up()
    assert files.is_evicted
    Workspace.objects.filter(pk=mirrored_workspace.pk).delete()  # by another node, which has other files
    follower.catch_up()
    assert not files.is_evicted
    assert local_mirrors.mirror_files(kept.pk).is_evicted


def test_mirror_use_is_recorded_at_most_once_per_interval(mirrored_workspace, files):
    use(files, days_ago=5)
    before = files.last_used()
    recent = UseRecorder(local_mirrors.mirror_files, every_s=3600)
    recent.record(mirrored_workspace.pk)
    noted = files.last_used()
    assert noted > before
    use(files, days_ago=5)
    recent.record(mirrored_workspace.pk)
    assert files.last_used() < noted
    UseRecorder(local_mirrors.mirror_files, every_s=3600).record(mirrored_workspace.pk)
    assert files.last_used() >= noted
