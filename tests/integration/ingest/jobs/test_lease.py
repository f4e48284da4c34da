"""At most one worker works on a job, and never one whose lease has expired."""

from datetime import timedelta
from functools import partial
from itertools import count
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from ingest.errors import LeaseLost
from ingest.jobs.items import worker, writer
from ingest.jobs.items.quarantine import request_retry, unreadable_files
from ingest.jobs.items.worker import MAX_ITEM_ATTEMPTS
from ingest.jobs.items.writer import ItemWriter
from ingest.jobs.queue import lease as lease_keeping
from ingest.jobs.queue import run
from ingest.jobs.queue.lease import MAX_STALLED_ATTEMPTS, Lease, LeaseKeeper, claim
from ingest.jobs.queue.report import ingest_report
from ingest.jobs.queue.request import request_sync
from ingest.jobs.queue.run import run_job
from ingest.models import Job, JobItem
from ingest.tasks import run_job_task
from kebab.tenancy.current_workspace import acting_nowhere
from search.models import Document
from tests.support.concurrency import at_once
from tests.support.corpus import make_workspace
from tests.support.jobs import Killed, counts, die, expire, fill, indexed_texts, now_of, sync, upload, work


@pytest.fixture
def job(source, folder):
    fill(folder, {f"{name}.md": f"{name}\n" for name in "abc"})
    return request_sync(source)


def begin_five_times(job, path, monkeypatch):
    """List the job, and start one of its items with five workers that die."""
    with monkeypatch.context() as patched:
        patched.setattr(worker.ItemWorker, "run", die)
        with pytest.raises(Killed):
            run_job(job.workspace_id, job.pk)
    JobItem.objects.filter(path=path).update(attempts=MAX_ITEM_ATTEMPTS)
    expire(job)


def test_only_one_worker_claims_a_job_or_an_expired_lease(job):
    for attempt in (1, 2):
        leases = at_once([partial(claim, job.workspace_id, job.pk)] * 8)
        assert [lease.attempt for lease in leases if lease is not None] == [attempt]
        assert (now_of(job).state, now_of(job).attempt) == ("running", attempt)
        assert claim(job.workspace_id, job.pk) is None
        expire(job)


def test_job_that_is_not_due_or_has_ended_or_is_anothers_is_not_claimed(job):
    assert claim(make_workspace().pk, job.pk) is None
    Job.objects.update(due_at=timezone.now() + timedelta(hours=1))
    assert claim(job.workspace_id, job.pk) is None
    Job.objects.update(due_at=timezone.now(), state="succeeded", finished_at=Now())
    assert claim(job.workspace_id, job.pk) is None


@pytest.fixture
def old_and_new_lease(job):
    """Return two leases of one job: the expired one, and the new one of another worker."""
    old = claim(job.workspace_id, job.pk)
    expire(job)
    return old, claim(job.workspace_id, job.pk)


def test_fence_blocks_writes_of_a_lost_lease(job, old_and_new_lease, settings):
    old, new = old_and_new_lease
    with pytest.raises(LeaseLost):
        old.write(items_done=99)
    run._end_job(old, "failed", error="late")
    new.write(items_done=1)
    assert (now_of(job).state, now_of(job).error, now_of(job).items_done) == ("running", "", 1)
    settings.KEBAB_WITHOUT = frozenset({"fence"})
    old.write(items_done=99)
    assert now_of(job).items_done == 99


def test_worker_whose_lease_was_taken_over_changes_no_document(workspace, job, monkeypatch):
    draft = writer.document_draft

    def take_over_and_draft(*arguments, **options):
        Job.objects.filter(pk=job.pk).update(attempt=2)
        return draft(*arguments, **options)

    monkeypatch.setattr(writer, "document_draft", take_over_and_draft)
    run_job(job.workspace_id, job.pk)
    assert not Document.objects.exists()
    assert (now_of(job).state, now_of(job).items_done, now_of(job).attempt) == ("running", 0, 2)
    monkeypatch.undo()
    expire(job)
    assert work(job).state == "succeeded"
    assert len(indexed_texts(workspace)) == 3


def test_keeper_renews_the_lease_and_notices_a_cancellation(job):
    keeper = LeaseKeeper(claim(job.workspace_id, job.pk))
    expire(job)
    keeper._check_lease(renew=True)
    assert now_of(job).lease_until > timezone.now()
    assert not keeper.is_cancelled
    Job.objects.update(cancel_requested=True)
    keeper._check_lease(renew=False)
    assert (keeper.is_cancelled, keeper.is_lost) == (True, False)


def test_keeper_renews_on_time_despite_slow_checks(job, settings, monkeypatch):
    seconds, renewals = count(step=30), []
    keeper = LeaseKeeper(claim(job.workspace_id, job.pk))

    def look(*, renew):
        renewals.append(renew)
        if len(renewals) == 6:
            keeper._stop.set()

    monkeypatch.setattr(lease_keeping, "_WATCH_S", 0.001)
    monkeypatch.setattr(lease_keeping, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    monkeypatch.setattr(keeper, "_check_lease", look)
    keeper._renew()
    assert renewals == [True] * 6


@pytest.mark.parametrize("renew", [True, False])
def test_keeper_notices_a_lost_lease_or_a_deleted_job(workspace, old_and_new_lease, renew):
    for lease in (old_and_new_lease[0], Lease(workspace_id=workspace.pk, job_id=uuid4(), attempt=1)):
        keeper = LeaseKeeper(lease)
        keeper._check_lease(renew=renew)
        assert keeper.is_lost


@pytest.mark.parametrize("killers", [{"b.md"}, {"a.md", "b.md", "d.md", "e.md", "f.md"}])
def test_items_that_kill_their_worker_are_failed(workspace, job, folder, monkeypatch, killers):
    write = ItemWriter.write

    def die_of_some(self, findings):
        if killers & {finding.started.place.path for finding in findings}:
            raise Killed
        write(self, findings)

    monkeypatch.setattr(ItemWriter, "write", die_of_some)
    fill(folder, {f"{name}.md": f"{name}\n" for name in "defg"})
    kills = 0
    while now_of(job).state in ("queued", "running"):
        try:
            run_job(job.workspace_id, job.pk)
        except Killed:
            kills += 1
            expire(job)
        assert kills <= 5 * len(killers)
    assert (now_of(job).state, now_of(job).error) == ("succeeded", "")
    assert {item.path for item in JobItem.objects.filter(reason="killed_its_worker")} == killers
    assert set(indexed_texts(workspace)) == {f"{name}.md" for name in "abcdefg"} - killers
    assert ingest_report(now_of(job))["failed_by_reason"] == {"killed_its_worker": len(killers)}


def test_file_that_kills_its_worker_is_left_alone_until_it_changes(job, source, folder, monkeypatch):
    begin_five_times(job, "b.md", monkeypatch)
    report = ingest_report(work(job))
    assert counts(report) == {"seen": 3, "new": 2, "failed": 1, "parser_calls": 2}
    assert counts(sync(source)) == {"seen": 3, "unchanged": 2, "failed": 1}
    fill(folder, {"b.md": "changed\n"})
    assert counts(sync(source)) == {"seen": 3, "new": 1, "unchanged": 2, "parser_calls": 1}


def test_file_that_killed_its_worker_five_times_fails_without_another_read(workspace, job, monkeypatch):
    begin_five_times(job, "b.md", monkeypatch)
    monkeypatch.setattr(ItemWriter, "end_unreadable", die)
    with pytest.raises(Killed):
        run_job(job.workspace_id, job.pk)
    expire(job)
    assert work(job).state == "succeeded"
    assert ingest_report(now_of(job))["failed_by_reason"] == {"killed_its_worker": 1}
    assert set(indexed_texts(workspace)) == {"a.md", "c.md"}


def test_file_that_killed_its_worker_is_read_on_request(workspace, job, monkeypatch):
    begin_five_times(job, "b.md", monkeypatch)
    work(job)
    (entry,) = unreadable_files(workspace)
    assert (entry.path, str(MAX_ITEM_ATTEMPTS) in entry.detail) == ("b.md", True)
    assert JobItem.objects.get(job=job, path="b.md").detail == entry.detail
    assert work(request_retry(entry, requested_by="")).state == "succeeded"
    assert len(indexed_texts(workspace)) == 3
    assert not unreadable_files(workspace)


def test_job_without_any_progress_is_given_up(job):
    Job.objects.update(stalled_attempts=MAX_STALLED_ATTEMPTS)
    ended = work(job)
    assert (ended.state, ended.items_done, str(MAX_STALLED_ATTEMPTS) in ended.error) == ("failed", 0, True)


def test_job_backoff_grows_after_each_exception(job, monkeypatch, caplog):
    def break_off(work):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(run, "_RUNNERS", {**run._RUNNERS, "sync_source": break_off})
    waits = []
    for _ in range(4):
        began = timezone.now()
        run_job(job.workspace_id, job.pk)
        put_off = now_of(job)
        waits.append((max(put_off.due_at, put_off.lease_until) - began).total_seconds())
        assert claim(job.workspace_id, job.pk) is None
        expire(job)
    assert [0.85 < wait / (5 * 2**n) < 1.3 for n, wait in enumerate(waits, start=1)] == [True] * 4
    assert "ZeroDivisionError" in caplog.text
    Job.objects.update(stalled_attempts=MAX_STALLED_ATTEMPTS)
    run_job(job.workspace_id, job.pk)
    assert (now_of(job).state, "ZeroDivisionError" in now_of(job).error) == ("failed", True)


def test_job_that_was_put_off_resumes_where_it_was(workspace, job, monkeypatch):
    write = ItemWriter.write

    def fail_after_the_first(self, findings):
        write(self, findings[:1])
        raise ZeroDivisionError("a bug")

    with monkeypatch.context() as patched:
        patched.setattr(ItemWriter, "write", fail_after_the_first)
        run_job(job.workspace_id, job.pk)
    assert (len(indexed_texts(workspace)), now_of(job).items_done) == (1, 1)
    expire(job)
    ended = work(job)
    assert (ended.state, ended.items_done, ended.items_total) == ("succeeded", 3, 3)
    assert counts(ingest_report(ended))["new"] == 3


@pytest.mark.parametrize("is_of_another", [False, True])
def test_long_job_yields_when_others_wait(workspace, job, monkeypatch, is_of_another):
    monkeypatch.setattr(worker, "_TURN_S", -1.0)
    waiting = upload(make_workspace() if is_of_another else workspace, "x.md", b"x\n")
    with acting_nowhere():
        run_job_task(str(job.workspace_id), str(job.pk))
    assert (now_of(job).state, now_of(job).items_done) == ("running", 0)
    monkeypatch.undo()
    assert [work(each).state for each in (waiting, job)] == ["succeeded", "succeeded"]
