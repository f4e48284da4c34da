"""Hints wake workers fairly across workspaces, within their capacity, and may be lost without harm."""

import json
import socket
from base64 import b64decode
from datetime import timedelta
from threading import Barrier, Event, Thread

import pytest
import redis
from django.db import connection, transaction
from django.utils import timezone

from ingest.jobs.queue import hints
from ingest.jobs.queue.hints import hint_due_jobs
from ingest.jobs.queue.request import request_embedding, request_sync
from ingest.models import Job
from ingest.tasks import sweep_task
from kebab.stack.models import ProcessRole, StackProcess
from kebab.tenancy.current_workspace import acting_everywhere
from tests.support.concurrency import at_once
from tests.support.corpus import make_workspace
from tests.support.jobs import fill, upload, work


@pytest.fixture(autouse=True)
def two_slots(settings):
    settings.KEBAB_WORKER_SLOTS = 2


@pytest.fixture
def unreachable_redis(monkeypatch):
    """Point hints at a port where nothing listens."""
    gone = redis.Redis.from_url("redis://127.0.0.1:1/0", socket_connect_timeout=1)
    monkeypatch.setattr(hints, "_redis", lambda: gone)


@pytest.fixture
def silent_redis(monkeypatch):
    """Point hints at a Redis that accepts connections and does not respond."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(
            hints.app.conf, "broker_write_url", f"redis://127.0.0.1:{server.getsockname()[1]}/0"
        )
        monkeypatch.setattr(hints._Queue, "has_room_for_request", lambda self: True)
        hints._producers.cache_clear()
        yield
        hints._producers().force_close_all()
    hints._producers.cache_clear()


def hinted_jobs(queue="ingest"):
    """Return the ids of the jobs in a queue, oldest hint first."""
    messages = [json.loads(raw) for raw in reversed(hints._redis().lrange(queue, 0, -1))]
    return [json.loads(b64decode(message["body"]))[0][1] for message in messages]


def make_jobs(workspace, count, *, older_s=0):
    dues = [timezone.now() - timedelta(seconds=older_s + count - n) for n in range(count)]
    jobs = [Job(workspace=workspace, kind="ingest_document", due_at=due) for due in dues]
    return [str(job.pk) for job in Job.objects.bulk_create(jobs)]


def test_request_wakes_a_worker_once_it_is_committed(source):
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        request_sync(source)
        raise ZeroDivisionError
    assert hinted_jobs() == []
    with transaction.atomic():
        job = request_sync(source)
        assert hinted_jobs() == []
    assert hinted_jobs() == [str(job.pk)]
    embedding = request_embedding(source.workspace_id)
    assert (hinted_jobs("embed"), hinted_jobs()) == ([str(embedding.pk)], [str(job.pk)])


def test_silent_redis_does_not_fail_a_request(source, silent_redis, caplog):
    job = request_sync(source)  # would never return without its limits on the socket
    assert str(job.pk) in caplog.text


def test_hints_alternate_between_workspaces(workspace):
    second, third = make_workspace(), make_workspace()
    many = make_jobs(workspace, 600, older_s=3600)
    few, one = make_jobs(second, 2, older_s=60), make_jobs(third, 1)
    assert hint_due_jobs() == 4
    in_turn = [jobs for _, jobs in sorted([(workspace.pk, many), (second.pk, few), (third.pk, one)])]
    assert hinted_jobs() == [*(jobs[0] for jobs in in_turn), next(jobs[1] for jobs in in_turn if jobs != one)]


def test_hints_continue_after_the_last_hinted_workspace(workspace, settings):
    settings.KEBAB_WORKER_SLOTS = 1
    jobs = {each.pk: make_jobs(each, 3) for each in (workspace, *(make_workspace() for _ in range(4)))}
    hinted = []
    for _ in range(5):
        hint_due_jobs()
        hinted += hinted_jobs()
        hints._redis().delete("ingest")
    in_turn = [jobs[pk] for pk in sorted(jobs)]
    assert hinted == [each[nth] for nth in (0, 1) for each in in_turn]


def test_pending_hints_are_limited_by_worker_slots(workspace):
    make_jobs(workspace, 10)
    assert (hint_due_jobs(), hint_due_jobs()) == (4, 0)
    hints._redis().rpop("ingest")
    assert hint_due_jobs() == 1
    assert len(hinted_jobs()) == 4


def test_lost_hint_is_sent_again_by_the_sweep_once_it_is_stale(workspace):
    job = upload(workspace, "a.md", b"a\n")
    Job.objects.update(hinted_at=timezone.now())
    hints._redis().delete("ingest")
    sweep_task()
    assert hinted_jobs() == []
    for hinted_at in (timezone.now() - timedelta(minutes=1), None):
        Job.objects.update(hinted_at=hinted_at)
        hints._redis().delete("ingest")
        sweep_task()
        assert hinted_jobs() == [str(job.pk)]


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
    assert set(hinted_jobs()) == {str(ids[3]), str(ids[4])}


def test_requests_and_work_go_on_without_redis(folder, source, unreachable_redis, caplog):
    fill(folder, {"a.md": "a\n"})
    job = work(request_sync(source))
    assert (job.state, str(job.pk) in caplog.text) == ("succeeded", True)
    assert hint_due_jobs() == 0


def test_concurrent_sweeps_hint_at_a_job_once(workspace, monkeypatch):
    """Sweeps share no lock, so that a stalled one does not block others."""
    jobs, together = make_jobs(workspace, 2), Barrier(3, timeout=30)
    hint = hints._hint_once

    def once_all_have_chosen(*args):
        together.wait()
        return hint(*args)

    monkeypatch.setattr(hints, "_hint_once", once_all_have_chosen)
    assert sum(at_once([hint_due_jobs] * 3)) == 2
    assert sorted(hinted_jobs()) == sorted(jobs)


def test_stalled_sweep_does_not_block_others(workspace, monkeypatch):
    jobs, at_work, go_on = make_jobs(workspace, 2), Event(), Event()
    send = hints._Queue.send

    def stand_still(queue, *ids):
        monkeypatch.setattr(hints._Queue, "send", send)
        at_work.set()
        assert go_on.wait(30)
        send(queue, *ids)

    monkeypatch.setattr(hints._Queue, "send", stand_still)

    @acting_everywhere()
    def sweep_apart():
        try:
            sweep_task()
        finally:
            connection.close()

    beside = Thread(target=sweep_apart)
    beside.start()
    assert at_work.wait(30)
    sweep_task()
    assert hinted_jobs() == jobs[1:]
    go_on.set()
    beside.join()
    assert sorted(hinted_jobs()) == sorted(jobs)


def test_sweep_fills_the_slots_of_all_living_nodes(workspace):
    make_jobs(workspace, 20)
    worker = {"role": ProcessRole.WORKER, "name": "worker", "pid": 1, "started_at": timezone.now()}
    fresh, silent = timezone.now(), timezone.now() - timedelta(minutes=5)
    for node, seen, queues in (
        ("a", fresh, ["ingest"]),
        ("b", fresh, ["ingest"]),
        ("c", silent, ["ingest"]),
        ("d", fresh, ["embed"]),
    ):
        StackProcess.objects.create(node=node, heartbeat_at=seen, queues=queues, slots=3, **worker)

    assert hint_due_jobs() == 2 * (3 + 3)
