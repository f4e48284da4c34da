"""Watching folders: real changes on a real disk, told by the kernel, asked about in Postgres."""

import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.db.models.functions import Now

from ingest.jobs.request import request_sync
from ingest.models import Job
from ingest.watching import watcher as watching
from ingest.watching.locks import SourceLocks
from ingest.watching.watcher import FolderWatcher
from search.corpus import ensure_source
from search.models import Source
from tests.integration.kebab.stack.conftest import eventually
from tests.support.jobs import fill, indexed, work


@pytest.fixture(autouse=True)
def _short_periods(monkeypatch):
    monkeypatch.setattr(watching, "_LOOK_S", 0.2)
    monkeypatch.setattr(watching, "LEAST_PAUSE_S", 0.1)
    monkeypatch.setattr(watching, "_TICK_MS", 50)


@pytest.fixture
def watched(source):
    """A source that is watched, and was synced just now."""
    Source.objects.filter(pk=source.pk).update(watch=True, last_sync_at=Now())
    return source


@pytest.fixture
def run_watcher():
    """Run watchers in threads of their own until the test ends."""
    stops = []

    def run():
        stop = threading.Event()

        def watch():
            try:
                FolderWatcher(stop).run()
            finally:
                connection.close()

        thread = threading.Thread(target=watch)
        thread.start()
        stops.append((stop, thread))
        return stop, thread

    yield run
    for stop, thread in stops:
        stop.set()
        thread.join()


def waiting(source):
    return Job.objects.filter(source=source.pk, kind="sync_source", state="queued")


def work_off(source):
    """Work on what was asked for, once it is there."""
    eventually(lambda: waiting(source).exists(), "a sync is asked for", 20)
    job = work(waiting(source).get())
    Source.objects.filter(pk=source.pk).update(last_sync_at=Now())
    return job


def touch(file: Path):
    """Change a file once more, for as long as the watch may still be beginning."""
    file.write_text(f"# {time.monotonic_ns()}\n")
    return True


def test_a_change_asks_for_a_sync(watched, folder, run_watcher, workspace):
    run_watcher()
    work_off(watched)  # nobody saw what changed before
    fill(folder, {"deep/new.md": "# New\n"})
    eventually(lambda: waiting(watched).exists() and touch(folder / "other.md"), "the change is seen", 20)
    job = work_off(watched)
    assert (job.state, job.requested_by) == ("succeeded", "watch")
    assert "deep/new.md" in indexed(workspace)


def test_a_file_that_goes_asks_for_a_sync(watched, folder, run_watcher, workspace):
    fill(folder, {"a.md": "# A\n", "b.md": "# B\n"})
    run_watcher()
    work_off(watched)
    assert set(indexed(workspace)) == {"a.md", "b.md"}
    (folder / "b.md").unlink()
    work_off(watched)
    assert set(indexed(workspace)) == {"a.md"}


def test_changes_while_a_sync_waits_join_it(watched, folder, run_watcher):
    request_sync(watched)
    run_watcher()
    for n in range(5):
        fill(folder, {f"{n}.md": "# N\n"})
    fill(folder, {"last.md": "# Last\n"})
    work_off(watched)
    assert Job.objects.filter(source=watched.pk, kind="sync_source").count() <= 2


def test_what_git_does_in_its_own_folder_is_no_change(tmp_path, watched, folder):
    seen = watching._changed_sources(
        {(watching.Change.modified, str(folder / ".git" / "index"))},
        {watched.pk: watching.Folder.at(folder)},
    )
    assert list(seen) == []


def test_a_folder_that_goes_and_comes_back_is_watched_again(watched, folder, run_watcher, workspace):
    fill(folder, {"a.md": "# A\n"})
    run_watcher()
    work_off(watched)
    folder.rename(folder.with_name("away"))
    n_jobs = Job.objects.filter(source=watched.pk).count()
    folder.with_name("away").rename(folder)
    fill(folder, {"b.md": "# B\n"})
    work_off(watched)
    assert set(indexed(workspace)) == {"a.md", "b.md"}
    (folder / "a.md").unlink()
    work_off(watched)
    assert set(indexed(workspace)) == {"b.md"}
    assert Job.objects.filter(source=watched.pk).count() > n_jobs


def test_a_source_is_watched_from_when_it_wants_to_be(source, folder, run_watcher):
    run_watcher()
    other = ensure_source(source.workspace, "other", kind="folder", config={"path": str(folder)})
    Source.objects.filter(pk=other.pk).update(watch=True, last_sync_at=Now())
    work_off(other)
    assert not waiting(source).exists()


def test_a_folder_without_changes_is_listed_now_and_then(watched, run_watcher):
    run_watcher()
    work_off(watched)
    Source.objects.filter(pk=watched.pk).update(last_sync_at=Now() - 2 * watching.LISTING_PERIOD)
    work_off(watched)


def test_a_folder_that_the_kernel_cannot_watch_is_listed_by_the_clock(watched, run_watcher, monkeypatch):
    def no_watch(*paths, **options):
        raise OSError("OS file watch limit reached")

    monkeypatch.setattr(watching, "watch", no_watch)
    run_watcher()
    work_off(watched)
    Source.objects.filter(pk=watched.pk).update(last_sync_at=Now() - timedelta(hours=1))
    work_off(watched)


def test_one_of_two_watchers_watches(watched, folder, run_watcher):
    first = run_watcher()
    work_off(watched)
    with SourceLocks() as locks:
        assert locks.hold_only([watched.pk]) == set()
        first[0].set()
        first[1].join()
        eventually(lambda: locks.hold_only([watched.pk]) == {watched.pk}, "the lock is free", 20)
        run_watcher()
        fill(folder, {"new.md": "# New\n"})
        assert not waiting(watched).exists()
        assert locks.hold_only([]) == set()
        work_off(watched)


def test_a_watcher_outlives_its_connection(watched, folder, run_watcher):
    run_watcher()
    work_off(watched)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s",
            [0x6B77],
        )
        assert cursor.rowcount == 1
    work_off(watched)  # whoever takes over asks for what it did not see
    fill(folder, {"new.md": "# New\n"})
    work_off(watched)
