import os
from datetime import timedelta

import pytest
import redis
from django.db import OperationalError
from django.db.models.functions import Now
from django.utils import timezone

from kebab.stack.addresses import redis_client_url, redis_url
from kebab.stack.heartbeat import Activity, Heartbeat
from kebab.stack.models import ProcessRole, StackProcess
from kebab.stack.redis import EmbeddedRedis
from kebab.stack.watchdog import queue_lengths, stuck_workers
from tests.support.stack import eventually

pytestmark = pytest.mark.django_db(transaction=True)

_LONG_AGO = timedelta(minutes=5)


def a_worker(**changes) -> StackProcess:
    values = {
        "node": "here",
        "role": ProcessRole.WORKER,
        "name": "worker",
        "pid": 1234,
        "queues": ["ingest"],
        "started_at": timezone.now() - _LONG_AGO,
        "heartbeat_at": timezone.now(),
    }
    return StackProcess.objects.create(**{**values, **changes})


def test_row_exists_as_long_as_the_process_beats():
    activity = Activity(busy=2, info={"tasks_started": 3})
    with Heartbeat(ProcessRole.WORKER, name="mine", slots=4, queues=("a", "b"), activity=lambda: activity):
        eventually(StackProcess.objects.filter(name="mine").exists, "the row is there")
        row = StackProcess.objects.get(name="mine")
        assert (row.pid, row.slots, row.busy, row.queues) == (os.getpid(), 4, 2, ["a", "b"])
        assert row.info == {"tasks_started": 3}
    assert not StackProcess.objects.filter(name="mine").exists()


def test_rows_of_dead_and_long_silent_processes_are_deleted(settings):
    settings.KEBAB_NODE_ID = "here"
    a_worker(pid=2**22 + 1)
    a_worker(node="elsewhere", heartbeat_at=Now() - timedelta(minutes=11))
    kept = a_worker(node="elsewhere", pid=2**22 + 1)
    with Heartbeat(ProcessRole.MIRROR):
        eventually(StackProcess.objects.filter(role="mirror").exists, "the row is there")
        eventually(lambda: StackProcess.objects.filter(role="worker").count() == 1, "the old rows are gone")
    assert StackProcess.objects.get().pk == kept.pk


def test_lost_database_is_logged_once_and_the_beat_goes_on(monkeypatch, caplog):
    beats = []

    def lose_the_database() -> Activity:
        beats.append(1)
        raise OperationalError("away")

    monkeypatch.setattr("kebab.stack.heartbeat.PERIOD_S", 0.01)
    with Heartbeat(ProcessRole.BEAT, activity=lose_the_database):
        eventually(lambda: len(beats) > 3, "several beats have failed")
    assert sum("sign of life" in record.message for record in caplog.records) == 1


@pytest.fixture
def backlog(data_dir):
    """Run a Redis with one message in the queue `ingest` and give its address."""
    with EmbeddedRedis(data_dir):
        url = redis_url(data_dir)
        with redis.Redis.from_url(redis_client_url(url)) as client:
            client.rpush("ingest", "{}")
        yield url


def test_idle_worker_with_a_backlog_is_stuck(backlog, subtests):
    assert queue_lengths(backlog, ["ingest", "embed"]) == {"ingest": 1, "embed": 0}
    stuck = a_worker()
    assert stuck_workers("here", backlog) == [1234]
    for reason in (
        {"busy": 1},
        {"last_started_at": timezone.now()},
        {"started_at": timezone.now()},
        {"queues": ["embed"]},
        {"node": "elsewhere"},
        {"role": ProcessRole.MIRROR},
    ):
        with subtests.test(reason=reason):
            stuck.delete()
            stuck = a_worker(**reason)
            assert stuck_workers("here", backlog) == []
