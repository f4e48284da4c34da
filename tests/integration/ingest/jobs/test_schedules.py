"""Syncs by schedule: the clock is Postgres', moved here by what stands in the rows."""

import shutil
from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from ingest.jobs import schedule
from ingest.jobs.request import request_sync
from ingest.jobs.schedule import first_run, is_paused, request_due_syncs
from ingest.models import Job
from search.models import Source
from tests.support.jobs import failure, fill, sync, work

EVERY = 60


@pytest.fixture
def scheduled(source):
    """A source that is due, and was never synced."""
    Source.objects.filter(pk=source.pk).update(**first_run(EVERY, at_once=True))
    return source


def fresh(source):
    return Source.objects.get(pk=source.pk)


def minutes_until_next(source):
    return (fresh(source).next_sync_at - timezone.now()).total_seconds() / 60


def let_it_be_due(source):
    Source.objects.filter(pk=source.pk).update(next_sync_at=Now() - timedelta(seconds=1))


def test_a_source_that_is_due_is_asked_for_once(scheduled):
    assert (request_due_syncs(), request_due_syncs()) == (1, 0)
    job = Job.objects.get()
    assert (job.kind, job.source_id, job.requested_by) == ("sync_source", scheduled.pk, "schedule")
    assert 0.89 * EVERY < minutes_until_next(scheduled) < 1.11 * EVERY


def test_a_source_that_is_not_due_is_left_alone(source):
    assert request_due_syncs() == 0
    Source.objects.filter(pk=source.pk).update(**first_run(EVERY, at_once=False))
    assert request_due_syncs() == 0
    assert 0.89 * EVERY < minutes_until_next(source) < 1.11 * EVERY


def test_a_schedule_that_was_taken_away_asks_for_nothing(scheduled):
    Source.objects.filter(pk=scheduled.pk).update(**first_run(None, at_once=False))
    assert request_due_syncs() == 0
    assert fresh(scheduled).next_sync_at is None


def test_the_next_run_follows_the_end_of_the_last_one(scheduled, folder):
    fill(folder, {"a.md": "# A\n"})
    request_due_syncs()
    assert work(Job.objects.get()).state == "succeeded"
    source = fresh(scheduled)
    assert (timezone.now() - source.last_sync_at).total_seconds() < 60
    assert (source.sync_failures, is_paused(source)) == (0, False)
    assert 0.89 * EVERY < minutes_until_next(source) < 1.11 * EVERY


def test_a_sync_that_somebody_asked_for_counts_as_a_run(scheduled):
    sync(scheduled)
    assert request_due_syncs() == 0
    assert minutes_until_next(scheduled) > 0.89 * EVERY


def test_a_sync_that_is_open_is_not_asked_for_again(scheduled):
    request_sync(scheduled)
    assert request_due_syncs() == 0
    assert Job.objects.count() == 1
    assert minutes_until_next(scheduled) > 0.89 * EVERY


def test_a_sync_of_a_part_stands_in_no_schedules_way(scheduled):
    request_sync(scheduled, version="v1")
    request_sync(scheduled, only_paths=["a.md"])
    assert request_due_syncs() == 1
    assert Job.objects.filter(payload={}, requested_by="schedule").count() == 1


@pytest.mark.parametrize("part", [{"version": "v1"}, {"only_paths": ["a.md"]}])
def test_the_end_of_a_sync_of_a_part_is_none_of_the_sources(scheduled, folder, part):
    fill(folder, {"a.md": "# A\n"})
    sync(scheduled)
    Source.objects.update(sync_failures=3, state="error")
    before = fresh(scheduled)
    sync(scheduled, **part)
    assert fresh(scheduled).last_indexed_at > before.last_indexed_at
    assert fresh(scheduled).state == "error"

    Source.objects.update(state="indexed")
    shutil.rmtree(folder)
    failure(scheduled, **part)
    assert fresh(scheduled).state == "indexed"
    for name in ("sync_failures", "last_sync_at", "next_sync_at"):
        assert getattr(fresh(scheduled), name) == getattr(before, name), name


def test_a_source_that_was_read_in_part_alone_is_indexed(source, folder):
    fill(folder, {"a.md": "# A\n"})
    sync(source, version="v1")
    assert (fresh(source).state, fresh(source).last_sync_at) == ("indexed", None)


def test_each_failure_doubles_the_pause(scheduled, folder):
    folder.rmdir()
    pauses = []
    for _ in range(4):
        let_it_be_due(scheduled)
        request_due_syncs()
        assert work(Job.objects.latest("created_at")).state == "failed"
        pauses.append(minutes_until_next(scheduled) / EVERY)
    assert fresh(scheduled).sync_failures == 4
    assert [pytest.approx(factor, rel=0.11) for factor in (2, 4, 8, 16)] == pauses


def test_after_many_failures_the_schedule_waits_for_a_success(scheduled, folder):
    folder.rmdir()
    for _ in range(schedule.MAX_FAILURES):
        let_it_be_due(scheduled)
        request_due_syncs()
        work(Job.objects.latest("created_at"))
    source = fresh(scheduled)
    assert (is_paused(source), source.next_sync_at, request_due_syncs()) == (True, None, 0)

    folder.mkdir()
    sync(source)
    source = fresh(source)
    assert (is_paused(source), source.sync_failures) == (False, 0)
    assert 0.89 * EVERY < minutes_until_next(source) < 1.11 * EVERY


def test_stating_the_schedule_again_ends_its_pause(scheduled):
    Source.objects.filter(pk=scheduled.pk).update(sync_failures=schedule.MAX_FAILURES, next_sync_at=None)
    Source.objects.filter(pk=scheduled.pk).update(**first_run(EVERY, at_once=False))
    assert not is_paused(fresh(scheduled))
    let_it_be_due(scheduled)
    assert request_due_syncs() == 1


def test_a_cancelled_sync_is_no_failure(scheduled):
    request_due_syncs()
    job = Job.objects.get()
    Job.objects.filter(pk=job.pk).update(cancel_requested=True)
    assert work(job).state == "cancelled"
    source = fresh(scheduled)
    assert (source.sync_failures, source.last_sync_at is None) == (0, False)


def test_a_source_without_a_schedule_gets_no_next_run(source):
    sync(source)
    source = fresh(source)
    assert (source.next_sync_at, source.last_sync_at is None) == (None, False)
