"""Changes on disk, reported by the kernel, lead to syncs of watched sources."""

import threading
from datetime import timedelta
from itertools import count

import pytest
from django.db import connection
from django.db.models.functions import Now

from ingest.jobs.queue.request import request_sync
from ingest.models import Job
from ingest.watch import watcher as watching
from ingest.watch.watcher import FolderWatcher, SourceLocks
from search.corpus import ensure_source
from search.models import Source
from tests.support.jobs import fill, indexed_texts, work
from tests.support.stack import eventually


@pytest.fixture(autouse=True)
def _short_periods(monkeypatch):
    monkeypatch.setattr(watching, "_CHECK_S", 0.1)
    monkeypatch.setattr(watching, "LEAST_PAUSE_S", 0.05)
    monkeypatch.setattr(watching, "_TICK_MS", 25)
    monkeypatch.setattr(watching, "_STEP_MS", 20)
    monkeypatch.setattr(watching, "_DEBOUNCE_MS", 100)
    monkeypatch.setattr(watching, "_PAUSE_S", 0.1)


@pytest.fixture
def watched_source(source):
    """Return a watched source that was synced just now."""
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
    """Run the requested sync, once it exists."""
    eventually(lambda: waiting(source).exists(), "a sync is requested", 20, 0.01)
    job = work(waiting(source).get())
    Source.objects.filter(pk=source.pk).update(last_sync_at=Now())
    return job


def test_changed_and_deleted_files_lead_to_syncs(watched_source, folder, run_watcher, workspace):
    run_watcher()
    work_off(watched_source)  # nobody saw what changed before
    fill(folder, {"deep/new.md": "# New\n"})
    numbers = count()
    # The watch may still be beginning: change a file once more until it is seen.
    eventually(
        lambda: (
            waiting(watched_source).exists() or not (folder / "other.md").write_text(f"# {next(numbers)}\n")
        ),
        "the change is seen",
        20,
        0.01,
    )
    job = work_off(watched_source)
    assert (job.state, job.requested_by) == ("succeeded", "watch")
    assert set(indexed_texts(workspace)) == {"deep/new.md", "other.md"}
    (folder / "other.md").unlink()
    eventually(
        lambda: work_off(watched_source) and set(indexed_texts(workspace)) == {"deep/new.md"}, "it is deleted"
    )


def test_changes_while_a_sync_waits_join_it(watched_source, folder, run_watcher):
    request_sync(watched_source)
    run_watcher()
    fill(folder, {f"{n}.md": "# N\n" for n in range(6)})
    work_off(watched_source)
    assert Job.objects.filter(source=watched_source.pk, kind="sync_source").count() <= 2


def test_changes_below_dot_git_are_ignored(watched_source, folder):
    watched_folders = {watched_source.pk: watching.FolderIdentity.at(folder)}
    for path, seen in ((".git/index", []), ("a.md", [watched_source.pk])):
        changes = {(watching.Change.modified, str(folder / path))}
        assert list(watching._changed_sources(changes, watched_folders)) == seen


def test_recreated_folder_is_watched_again(watched_source, folder, run_watcher, workspace):
    fill(folder, {"a.md": "# A\n"})
    run_watcher()
    work_off(watched_source)
    n_jobs = Job.objects.filter(source=watched_source.pk).count()
    folder.rename(folder.with_name("away"))
    folder.with_name("away").rename(folder)
    fill(folder, {"b.md": "# B\n"})
    work_off(watched_source)
    assert set(indexed_texts(workspace)) == {"a.md", "b.md"}
    (folder / "a.md").unlink()
    eventually(
        lambda: work_off(watched_source) and set(indexed_texts(workspace)) == {"b.md"}, "it is deleted"
    )
    assert Job.objects.filter(source=watched_source.pk).count() > n_jobs


def test_source_is_watched_as_soon_as_watching_is_enabled(source, folder, run_watcher):
    run_watcher()
    other = ensure_source(source.workspace, "other", kind="folder", config={"path": str(folder)})
    Source.objects.filter(pk=other.pk).update(watch=True, last_sync_at=Now())
    work_off(other)
    assert not waiting(source).exists()


@pytest.mark.parametrize("is_watchable", [True, False])
def test_watched_folder_is_listed_periodically_without_changes(
    watched_source, run_watcher, monkeypatch, is_watchable
):
    def no_watch(*paths, **options):
        raise OSError("OS file watch limit reached")

    if not is_watchable:
        monkeypatch.setattr(watching, "watch", no_watch)
    run_watcher()
    work_off(watched_source)
    overdue = Now() - watching.LISTING_PERIOD - timedelta(minutes=1)
    Source.objects.filter(pk=watched_source.pk).update(last_sync_at=overdue)
    work_off(watched_source)


def test_only_one_watcher_holds_the_lock_of_a_source(watched_source, folder, run_watcher):
    stop, thread = run_watcher()
    work_off(watched_source)
    with SourceLocks() as locks:
        assert locks.hold_only([watched_source.pk]) == set()
        stop.set()
        thread.join()
        eventually(
            lambda: locks.hold_only([watched_source.pk]) == {watched_source.pk}, "the lock is free", 20
        )
        run_watcher()
        fill(folder, {"new.md": "# New\n"})
        assert not waiting(watched_source).exists()
        assert locks.hold_only([]) == set()
        work_off(watched_source)


def test_watcher_recovers_from_a_lost_connection(watched_source, folder, run_watcher):
    run_watcher()
    work_off(watched_source)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s",
            [0x6B77],
        )
        assert cursor.rowcount == 1
    work_off(watched_source)  # whoever takes over asks for what it did not see
    fill(folder, {"new.md": "# New\n"})
    work_off(watched_source)
