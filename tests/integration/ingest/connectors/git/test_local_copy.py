"""A node's copy of a repository is bounded, locked, repaired, and deleted with its source."""

import os
import stat
import subprocess

import pytest

from ingest.connectors.errors import RepositoryBusy
from ingest.connectors.git.local_copy import lock_copy
from ingest.jobs.items.worker import ItemWorker
from ingest.jobs.queue.request import cancel, request_source_deletion, request_sync
from ingest.models import Job
from kebab.people.operator import command_line_access
from kebab.people.workspaces import delete_workspace
from search.corpus import ensure_source
from search.models import Document, Source
from tests.integration.ingest.connectors.git.documents import place_of, texts
from tests.support.jobs import counts, failure, sync, work


def test_local_copy_is_deleted_with_its_source_and_workspace(workspace, source):
    sync(source)
    assert place_of(source).git_dir.exists()
    assert work(request_source_deletion(source)).state == "succeeded"
    assert not place_of(source).folder.exists()
    assert place_of(source).folder.parent.exists()
    delete_workspace(command_line_access(workspace))
    assert not place_of(source).folder.parent.exists()


def test_sync_removes_copies_of_sources_deleted_on_another_node(workspace, repository, source):
    gone = ensure_source(workspace, "gone", kind="git", config={"url": repository.url})
    sync(gone)
    Document.objects.filter(source=gone).delete()
    Job.objects.all().delete()
    Source.objects.filter(pk=gone.pk).delete()
    sync(source)

    assert not place_of(gone).folder.exists()
    assert place_of(source).folder.exists()


def test_copy_with_stale_locks_or_damaged_packs_is_repaired(workspace, repository, source):
    sync(source)
    git_dir = place_of(source).git_dir
    (git_dir / "shallow.lock").touch()
    (git_dir / "refs" / "kebab" / "x.lock").touch()
    repository.commit({"docs/a.md": "alpha two\n"})
    assert counts(sync(source))["updated"] == 1

    for pack in (git_dir / "objects" / "pack").glob("*.pack"):
        pack.chmod(0o600)
        pack.write_bytes(b"nonsense")
    repository.commit({"docs/a.md": "alpha three\n"})
    assert counts(sync(source))["updated"] == 1
    assert texts(workspace)["docs/a.md"] == "alpha three"


def test_many_fetches_leave_few_packs(repository, source, monkeypatch):
    monkeypatch.setattr("ingest.connectors.git.repository._MOST_PACKS", 2)
    for number in range(4):
        repository.commit({"docs/a.md": f"alpha {number}\n"})
        sync(source)

    assert len(list((place_of(source).git_dir / "objects" / "pack").glob("*.pack"))) <= 2
    assert counts(sync(source)) == {"seen": 3, "unchanged": 3}


def _stop():
    raise InterruptedError


def test_local_copy_is_locked_by_one_worker_at_a_time(source, monkeypatch):
    monkeypatch.setattr("ingest.connectors.git.local_copy._PATIENCE_S", 0.0)
    place = place_of(source)
    with lock_copy(place, lambda: None):
        assert stat.S_IMODE(place.folder.parent.parent.stat().st_mode) == 0o700
        with pytest.raises(RepositoryBusy):
            lock_copy(place, lambda: None).__enter__()
        job = work(request_sync(source))
    assert (job.state, job.lease_until is not None) == ("running", True)
    with lock_copy(place, lambda: None):
        pass


def test_child_keeps_the_lock_of_a_worker_that_was_killed_and_an_error_releases_it(source, monkeypatch):
    place = place_of(source)
    with lock_copy(place, lambda: None) as lock:
        child = subprocess.Popen(["sleep", "600"], pass_fds=(lock,))  # noqa: S607
    try:
        with pytest.raises(InterruptedError):
            lock_copy(place, _stop).__enter__()
    finally:
        child.kill()
        child.wait()
    monkeypatch.setattr(ItemWorker, "run", lambda self: 1 / 0)
    work(request_sync(source))
    with lock_copy(place, _stop):
        pass


@pytest.mark.parametrize("is_over_at_once", [False, True])
def test_repository_over_the_size_limit_is_given_up(
    workspace, repository, source, settings, monkeypatch, is_over_at_once
):
    sync(source)
    repository.commit({"docs/a.md": "other\n", "big.bin": os.urandom(1_500_000)})
    settings.KEBAB_GIT_LIMIT_BYTES = 1_000_000
    with monkeypatch.context() as quick:
        if is_over_at_once:
            quick.setattr("ingest.connectors.git.command.Git._check_limits", lambda *_: None)
        else:
            quick.setattr("ingest.connectors.git.command.CHECK_S", 0.001)
        assert "KEBAB_GIT_LIMIT_BYTES" in failure(source)
    assert texts(workspace)["docs/a.md"] == "alpha"
    assert place_of(source).size_bytes == 0
    repository.commit({"big.bin": None, "docs/a.md": "small again\n"})
    assert counts(sync(source))["updated"] == 1


def test_repository_that_takes_too_long_is_given_up(source, settings):
    settings.KEBAB_GIT_LIMIT_S = 0
    assert "KEBAB_GIT_LIMIT_S" in failure(source)


def test_cancelled_job_ends_while_it_waits_for_git(source, monkeypatch):
    def cancel_and_wait(repository, *_):
        cancel(job)
        while True:
            repository.git.run("version")

    job = request_sync(source)
    monkeypatch.setattr("ingest.connectors.git.repository.Repository.fetch_commit", cancel_and_wait)
    assert work(job).state == "cancelled"
