"""Waking workers: in turn over the workspaces, no more than they can take, never at the work's expense."""

import json
from base64 import b64decode
from datetime import timedelta

import pytest
import redis
from django.db import connection, transaction
from django.utils import timezone

from ingest.jobs import hints
from ingest.jobs.hints import hint_due_jobs
from ingest.jobs.request import request_embedding, request_sync
from ingest.jobs.sweep import _LOCK, sweep
from ingest.models import Job
from tests.corpus.making import make_workspace
from tests.corpus.together import at_once
from tests.jobs.working import fill, upload, work


@pytest.fixture(autouse=True)
def two_slots(settings):
    settings.KEBAB_WORKER_SLOTS = 2


@pytest.fixture
def unreachable_redis(monkeypatch):
    """A Redis at a port where nobody listens."""
    gone = redis.Redis.from_url("redis://127.0.0.1:1/0", socket_connect_timeout=1)
    monkeypatch.setattr(hints, "_redis", lambda: gone)


def hinted(queue="ingest"):
    """The ids of the jobs that wait in a queue, oldest hint first."""
    messages = [json.loads(raw) for raw in reversed(hints._redis().lrange(queue, 0, -1))]
    return [json.loads(b64decode(message["body"]))[0][1] for message in messages]


def make_jobs(workspace, count, *, older_s=0):
    jobs = [Job.objects.create(workspace=workspace, kind="ingest_document") for _ in range(count)]
    for n, job in enumerate(jobs):
        due = timezone.now() - timedelta(seconds=older_s + count - n)
        Job.objects.filter(pk=job.pk).update(due_at=due)
    return [str(job.pk) for job in jobs]


def test_a_request_wakes_a_worker_once_it_is_committed(source):
    with transaction.atomic():
        job = request_sync(source)
        assert hinted() == []
    assert hinted() == [str(job.pk)]


def test_a_request_that_is_rolled_back_wakes_nobody(source):
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        request_sync(source)
        raise ZeroDivisionError
    assert hinted() == []


def test_embedding_has_its_own_queue(workspace):
    job = request_embedding(workspace.pk)
    assert (hinted("embed"), hinted()) == ([str(job.pk)], [])


def test_workspaces_take_turns_however_many_jobs_one_has(workspace):
    second, third = make_workspace(), make_workspace()
    many = make_jobs(workspace, 600, older_s=3600)
    few, one = make_jobs(second, 2, older_s=60), make_jobs(third, 1)
    assert hint_due_jobs() == 4
    assert hinted() == [many[0], few[0], one[0], many[1]]


def test_no_more_hints_wait_than_workers_will_soon_take(workspace):
    make_jobs(workspace, 10)
    assert (hint_due_jobs(), hint_due_jobs()) == (4, 0)
    hints._redis().rpop("ingest")
    assert hint_due_jobs() == 1
    assert len(hinted()) == 4


def test_a_lost_hint_is_sent_again_when_it_has_had_its_time(workspace):
    make_jobs(workspace, 1)
    assert hint_due_jobs() == 1
    hints._redis().delete("ingest")
    assert hint_due_jobs() == 0
    Job.objects.update(hinted_at=timezone.now() - timedelta(minutes=1))
    assert hint_due_jobs() == 1


def test_jobs_that_are_not_due_are_not_hinted_at(workspace):
    make_jobs(workspace, 5)
    ids = list(Job.objects.values_list("pk", flat=True))
    later = timezone.now() + timedelta(minutes=1)
    now = timezone.now()
    Job.objects.filter(pk=ids[0]).update(due_at=later)
    Job.objects.filter(pk=ids[1]).update(state="running", lease_until=later)
    Job.objects.filter(pk=ids[2]).update(state="succeeded", finished_at=now)
    Job.objects.filter(pk=ids[3]).update(state="running", lease_until=now - timedelta(seconds=1))
    assert hint_due_jobs() == 2
    assert set(hinted()) == {str(ids[3]), str(ids[4])}


def test_without_redis_requests_and_work_go_on(folder, source, unreachable_redis, caplog):
    fill(folder, {"a.md": "a\n"})
    job = work(request_sync(source))
    assert job.state == "succeeded"
    assert "the sweep will send one" in caplog.text
    assert hint_due_jobs() == 0


def test_a_sweep_hints_at_what_is_due(workspace):
    jobs = make_jobs(workspace, 2)
    assert sweep() == 2
    assert hinted() == jobs


def test_one_sweep_at_a_time(workspace):
    make_jobs(workspace, 2)

    def beside_another():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
            try:
                return at_once([sweep])[0]
            finally:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])

    assert beside_another() == 0
    assert sweep() == 2


def test_a_sweep_that_fails_lets_the_next_one_work(workspace, monkeypatch):
    make_jobs(workspace, 1)

    def fail():
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr("ingest.jobs.sweep.hint_due_jobs", fail)
        with pytest.raises(ZeroDivisionError):
            sweep()
    assert at_once([sweep]) == [1]


def test_a_sweep_hints_at_an_upload_whose_hint_was_lost(workspace):
    job = upload(workspace, "a.md", b"a\n")
    hints._redis().delete("ingest")
    Job.objects.update(hinted_at=None)
    sweep()
    assert hinted() == [str(job.pk)]
