"""Scheduled syncs, timed by Postgres' clock; tests move the times in the rows."""

import shutil
from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from ingest.jobs.queue import schedule
from ingest.jobs.queue.request import request_sync
from ingest.jobs.queue.schedule import initial_schedule, is_paused, request_due_syncs
from ingest.models import Job
from search.models import Source
from tests.support.jobs import failure, fill, sync, work

EVERY = 60


@pytest.fixture
def scheduled_source(source):
    """Return a source that is due for its first sync."""
    Source.objects.filter(pk=source.pk).update(**initial_schedule(EVERY, at_once=True))
    return source


def fresh(source):
    return Source.objects.get(pk=source.pk)


def periods_until_next(source):
    return (fresh(source).next_sync_at - timezone.now()).total_seconds() / 60 / EVERY


def is_due_in_a_period(source):
    return 0.89 < periods_until_next(source) < 1.11


def request_next(source):
    """Make the source due, and request its sync."""
    Source.objects.filter(pk=source.pk).update(next_sync_at=Now() - timedelta(seconds=1))
    assert request_due_syncs() == 1
    return Job.objects.latest("created_at")


def test_source_that_is_due_is_requested_once(scheduled_source):
    assert (request_due_syncs(), request_due_syncs()) == (1, 0)
    job = Job.objects.get()
    assert (job.kind, job.source_id, job.requested_by) == ("sync_source", scheduled_source.pk, "schedule")
    assert is_due_in_a_period(scheduled_source)


def test_source_that_is_not_due_is_left_alone(source):
    assert request_due_syncs() == 0
    Source.objects.filter(pk=source.pk).update(**initial_schedule(EVERY, at_once=False))
    assert request_due_syncs() == 0
    assert is_due_in_a_period(source)
    Source.objects.filter(pk=source.pk).update(**initial_schedule(None, at_once=False))
    assert (request_due_syncs(), fresh(source).next_sync_at) == (0, None)
    sync(source)
    assert (fresh(source).next_sync_at, fresh(source).last_sync_at is None) == (None, False)


def test_next_run_follows_the_end_of_the_last_one(scheduled_source, folder):
    fill(folder, {"a.md": "# A\n"})
    request_due_syncs()
    assert work(Job.objects.get()).state == "succeeded"
    source = fresh(scheduled_source)
    assert source.last_sync_at > timezone.now() - timedelta(minutes=1)
    assert (source.sync_failures, is_paused(source)) == (0, False)
    assert is_due_in_a_period(source)


@pytest.mark.parametrize("request_it", [sync, request_sync])
def test_sync_that_somebody_requested_counts_as_a_run(scheduled_source, request_it):
    request_it(scheduled_source)
    assert request_due_syncs() == 0
    assert Job.objects.filter(kind="sync_source").count() == 1
    assert is_due_in_a_period(scheduled_source)


def test_partial_sync_does_not_delay_the_scheduled_sync(scheduled_source):
    request_sync(scheduled_source, version="v1")
    request_sync(scheduled_source, only_paths=["a.md"])
    assert request_due_syncs() == 1
    assert Job.objects.filter(payload={}, requested_by="schedule").count() == 1


@pytest.mark.parametrize("part", [{"version": "v1"}, {"only_paths": ["a.md"]}])
def test_partial_sync_does_not_change_the_error_state_of_the_source(scheduled_source, folder, part):
    fill(folder, {"a.md": "# A\n"})
    sync(scheduled_source)
    Source.objects.update(sync_failures=3, state="error")
    before = fresh(scheduled_source)
    sync(scheduled_source, **part)
    assert fresh(scheduled_source).last_indexed_at > before.last_indexed_at
    assert fresh(scheduled_source).state == "error"

    Source.objects.update(state="indexed")
    shutil.rmtree(folder)
    failure(scheduled_source, **part)
    assert fresh(scheduled_source).state == "indexed"
    for name in ("sync_failures", "last_sync_at", "next_sync_at"):
        assert getattr(fresh(scheduled_source), name) == getattr(before, name), name


def test_source_is_indexed_after_a_partial_sync(source, folder):
    fill(folder, {"a.md": "# A\n"})
    sync(source, version="v1")
    assert (fresh(source).state, fresh(source).last_sync_at) == ("indexed", None)


def test_each_failure_doubles_the_pause_until_the_schedule_waits_for_a_success(scheduled_source, folder):
    folder.rmdir()
    pauses = []
    for _ in range(schedule.MAX_FAILURES - 1):
        assert work(request_next(scheduled_source)).state == "failed"
        pauses.append(periods_until_next(scheduled_source))
    assert [pytest.approx(factor, rel=0.11) for factor in (2, 4, 8, 16)] == pauses[:4]
    work(request_next(scheduled_source))
    source = fresh(scheduled_source)
    assert (source.sync_failures, is_paused(source)) == (schedule.MAX_FAILURES, True)
    assert (source.next_sync_at, request_due_syncs()) == (None, 0)

    folder.mkdir()
    sync(source)
    source = fresh(source)
    assert (is_paused(source), source.sync_failures) == (False, 0)
    assert is_due_in_a_period(source)


def test_stating_the_schedule_again_ends_its_pause(scheduled_source):
    Source.objects.filter(pk=scheduled_source.pk).update(
        sync_failures=schedule.MAX_FAILURES, next_sync_at=None
    )
    Source.objects.filter(pk=scheduled_source.pk).update(**initial_schedule(EVERY, at_once=False))
    assert not is_paused(fresh(scheduled_source))
    request_next(scheduled_source)


def test_cancelled_sync_is_not_counted_as_a_failure(scheduled_source):
    request_due_syncs()
    job = Job.objects.get()
    Job.objects.filter(pk=job.pk).update(cancel_requested=True)
    assert work(job).state == "cancelled"
    source = fresh(scheduled_source)
    assert (source.sync_failures, source.last_sync_at is None) == (0, False)
