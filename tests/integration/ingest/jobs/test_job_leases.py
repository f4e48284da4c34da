"""Who works on a job: one worker at a time, and never one that was thought dead."""

import time
from datetime import timedelta
from functools import partial
from uuid import uuid4

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from ingest.errors import LeaseLost
from ingest.jobs import items, run, writing
from ingest.jobs import lease as lease_keeping
from ingest.jobs.items import MAX_ITEM_ATTEMPTS
from ingest.jobs.lease import MAX_STALLED_ATTEMPTS, Lease, LeaseKeeper, claim
from ingest.jobs.quarantine import quarantined, try_again
from ingest.jobs.report import ingest_report
from ingest.jobs.request import request_sync
from ingest.jobs.run import run_job
from ingest.jobs.writing import ItemWriter
from ingest.models import Job, JobItem
from ingest.tasks import run_job_task
from kebab.tenancy.acting import acting_nowhere
from search.models import Document
from tests.support.concurrency import at_once
from tests.support.corpus import make_workspace
from tests.support.jobs import counts, fill, indexed, sync, upload, work


@pytest.fixture
def job(source, folder):
    fill(folder, {f"{name}.md": f"{name}\n" for name in "abc"})
    return request_sync(source)


def expire(job):
    """Let the lease of whoever has the job run out."""
    Job.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(seconds=1), due_at=Now())


def now_of(job):
    return Job.objects.get(pk=job.pk)


def begin_five_times(job, path, monkeypatch):
    """Have the job listed, and this item of it begun by five workers that died."""

    def die(self):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(items.ItemWorker, "run", die)
        with pytest.raises(Killed):
            run_job(job.workspace_id, job.pk)
    JobItem.objects.filter(path=path).update(attempts=MAX_ITEM_ATTEMPTS)
    expire(job)


class Killed(BaseException):
    """Ends a worker as a kill does: nothing of ours catches it."""


def test_one_of_many_workers_gets_a_job(job):
    leases = at_once([partial(claim, job.workspace_id, job.pk)] * 8)
    assert [lease.attempt for lease in leases if lease is not None] == [1]
    assert (now_of(job).state, now_of(job).attempt) == ("running", 1)


def test_a_running_job_is_not_claimed_again_before_its_lease_is_over(job):
    claim(job.workspace_id, job.pk)
    assert claim(job.workspace_id, job.pk) is None
    expire(job)
    assert claim(job.workspace_id, job.pk).attempt == 2


def test_one_of_many_workers_takes_over_an_expired_lease(job):
    claim(job.workspace_id, job.pk)
    expire(job)
    leases = at_once([partial(claim, job.workspace_id, job.pk)] * 8)
    assert [lease.attempt for lease in leases if lease is not None] == [2]


def test_a_job_that_is_not_due_or_has_ended_is_not_claimed(job):
    Job.objects.update(due_at=timezone.now() + timedelta(hours=1))
    assert claim(job.workspace_id, job.pk) is None
    Job.objects.update(due_at=timezone.now(), state="succeeded", finished_at=Now())
    assert claim(job.workspace_id, job.pk) is None


def test_a_job_is_not_claimed_under_another_workspace(job):
    assert claim(make_workspace().pk, job.pk) is None


def test_a_lease_that_was_taken_over_writes_nothing(job):
    old = claim(job.workspace_id, job.pk)
    expire(job)
    new = claim(job.workspace_id, job.pk)
    with pytest.raises(LeaseLost):
        old.write(items_done=99)
    new.write(items_done=1)
    assert now_of(job).items_done == 1


def test_a_worker_whose_lease_was_taken_over_changes_no_document(workspace, job, monkeypatch):
    draft = writing.document_draft

    def taken_over_meanwhile(*arguments, **options):
        Job.objects.filter(pk=job.pk).update(attempt=2)
        return draft(*arguments, **options)

    monkeypatch.setattr(writing, "document_draft", taken_over_meanwhile)
    run_job(job.workspace_id, job.pk)
    assert not Document.objects.exists()
    assert (now_of(job).state, now_of(job).items_done, now_of(job).attempt) == ("running", 0, 2)
    monkeypatch.undo()
    expire(job)
    assert work(job).state == "succeeded"
    assert len(indexed(workspace)) == 3


def test_a_worker_whose_lease_was_taken_over_does_not_end_the_job(job):
    old = claim(job.workspace_id, job.pk)
    expire(job)
    claim(job.workspace_id, job.pk)
    run._end(old, "failed", error="late")
    assert (now_of(job).state, now_of(job).error) == ("running", "")


def test_without_its_fence_a_late_worker_would_write(job, settings):
    old = claim(job.workspace_id, job.pk)
    expire(job)
    claim(job.workspace_id, job.pk)
    settings.KEBAB_WITHOUT = frozenset({"fence"})
    old.write(items_done=99)
    assert now_of(job).items_done == 99


def test_a_keeper_renews_the_lease_and_sees_a_cancellation(job):
    keeper = LeaseKeeper(claim(job.workspace_id, job.pk))
    expire(job)
    keeper._look(renew=True)
    assert now_of(job).lease_until > timezone.now()
    assert not keeper.is_cancelled
    Job.objects.update(cancel_requested=True)
    keeper._look(renew=False)
    assert (keeper.is_cancelled, keeper.is_lost) == (True, False)


def test_a_keeper_renews_by_the_clock_however_long_its_looks_take(job, monkeypatch):
    monkeypatch.setattr(lease_keeping, "_WATCH_S", 0.01)
    monkeypatch.setattr(lease_keeping, "_RENEW_S", 0.1)
    keeper, renewals = LeaseKeeper(claim(job.workspace_id, job.pk)), []

    def slow(*, renew):
        renewals.append(renew)
        time.sleep(0.12)
        if len(renewals) == 6:
            keeper._stop.set()

    monkeypatch.setattr(keeper, "_look", slow)
    keeper._keep()
    assert renewals[1:] == [True] * 5


def test_a_keeper_sees_that_its_lease_is_lost(job):
    lease = claim(job.workspace_id, job.pk)
    expire(job)
    claim(job.workspace_id, job.pk)
    for renew in (True, False):
        keeper = LeaseKeeper(lease)
        keeper._look(renew=renew)
        assert keeper.is_lost


def test_a_keeper_of_a_job_that_is_gone_says_so(workspace):
    keeper = LeaseKeeper(Lease(workspace_id=workspace.pk, job_id=uuid4(), attempt=1))
    keeper._look(renew=True)
    assert keeper.is_lost


def test_attempts_are_counted_before_the_work(job, monkeypatch):
    def die(self, findings):
        raise Killed

    monkeypatch.setattr(ItemWriter, "write", die)
    with pytest.raises(Killed):
        run_job(job.workspace_id, job.pk)
    assert set(JobItem.objects.values_list("attempts", flat=True)) == {1}
    assert now_of(job).state == "running"


@pytest.mark.parametrize("killers", [{"b.md"}, {"a.md", "b.md", "d.md", "e.md", "f.md"}])
def test_items_that_kill_their_worker_are_failed_and_the_rest_succeeds(
    workspace, job, folder, monkeypatch, killers
):
    write = ItemWriter.write

    def die_of_some(self, findings):
        if killers & {finding.begun.place.path for finding in findings}:
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
    assert set(indexed(workspace)) == {f"{name}.md" for name in "abcdefg"} - killers
    assert ingest_report(now_of(job))["failed_by_reason"] == {"killed_its_worker": len(killers)}


def test_a_file_that_kills_its_worker_is_left_alone_until_someone_asks_for_it(
    workspace, job, source, folder, monkeypatch
):
    begin_five_times(job, "b.md", monkeypatch)
    assert work(job).state == "succeeded"
    assert counts(sync(source)) == {"seen": 3, "unchanged": 2, "failed": 1}
    fill(folder, {"b.md": "changed\n"})
    assert counts(sync(source)) == {"seen": 3, "new": 1, "unchanged": 2, "parser_calls": 1}


def test_who_asks_for_a_file_that_killed_its_worker_has_it_read(workspace, job, monkeypatch):
    begin_five_times(job, "b.md", monkeypatch)
    work(job)
    (entry,) = quarantined(workspace)
    assert (entry.path, entry.detail) == ("b.md", "Given up after 5 attempts.")
    assert work(try_again(entry, requested_by="")).state == "succeeded"
    assert len(indexed(workspace)) == 3
    assert not quarantined(workspace)


def test_a_file_whose_very_reading_kills_its_worker_is_failed_unread(workspace, job, monkeypatch):
    begin_five_times(job, "b.md", monkeypatch)

    def die(self, finding):
        raise Killed

    monkeypatch.setattr(ItemWriter, "set_aside", die)
    with pytest.raises(Killed):
        run_job(job.workspace_id, job.pk)
    expire(job)
    assert work(job).state == "succeeded"
    assert ingest_report(now_of(job))["failed_by_reason"] == {"killed_its_worker": 1}
    assert set(indexed(workspace)) == {"a.md", "c.md"}


def test_an_item_begun_five_times_is_not_begun_again(workspace, job, monkeypatch):
    begin_five_times(job, "b.md", monkeypatch)
    report = ingest_report(work(job))
    assert counts(report) == {"seen": 3, "new": 2, "failed": 1, "parser_calls": 2}
    assert JobItem.objects.get(path="b.md").detail == "Given up after 5 attempts."


def test_a_job_without_any_progress_is_given_up(job):
    Job.objects.update(stalled_attempts=MAX_STALLED_ATTEMPTS)
    ended = work(job)
    assert (ended.state, ended.items_done) == ("failed", 0)
    assert "without progress" in ended.error


def test_an_exception_puts_the_job_off_longer_each_time(job, monkeypatch, caplog):
    def break_off(work):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(run, "_WORK", {**run._WORK, "sync_source": break_off})
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
    given_up = now_of(job)
    assert given_up.state == "failed"
    assert given_up.error.startswith(
        "Given up after 8 attempts without progress. It broke off: ZeroDivisionError;"
    )


def test_a_job_that_was_put_off_goes_on_where_it_was(workspace, job, monkeypatch):
    write = ItemWriter.write

    def fail_after_the_first(self, findings):
        write(self, findings[:1])
        raise ZeroDivisionError("a bug")

    with monkeypatch.context() as patched:
        patched.setattr(ItemWriter, "write", fail_after_the_first)
        run_job(job.workspace_id, job.pk)
    assert (len(indexed(workspace)), now_of(job).items_done) == (1, 1)
    expire(job)
    ended = work(job)
    assert (ended.state, ended.items_done, ended.items_total) == ("succeeded", 3, 3)
    assert counts(ingest_report(ended))["new"] == 3


@pytest.mark.parametrize("whose", ["its own workspace", "another workspace"])
def test_a_long_job_makes_room_when_others_wait(workspace, job, monkeypatch, whose):
    monkeypatch.setattr(items, "_TURN_S", -1.0)
    waiting = upload(workspace if whose == "its own workspace" else make_workspace(), "x.md", b"x\n")
    with acting_nowhere():
        run_job_task(str(job.workspace_id), str(job.pk))
    assert (now_of(job).state, now_of(job).items_done) == ("running", 0)
    monkeypatch.undo()
    assert work(waiting).state == "succeeded"
    assert work(job).state == "succeeded"
