import os
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.db.models.functions import Now
from django.utils import timezone

from kebab.stack.models import ProcessRole, StackProcess
from kebab.stack.nodes.registry import Activity, Heartbeat
from kebab.stack.supervisor.watchdog import queue_lengths, stuck_workers
from tests.integration.kebab.stack.conftest import QUEUE
from tests.integration.kebab.stack.databases import create_process
from tests.support.stack import eventually

pytestmark = pytest.mark.django_db(transaction=True)


def test_heartbeat_row_exists_while_the_process_runs():
    activity = Activity(busy=2, info={"tasks_started": 3})
    with Heartbeat(ProcessRole.WORKER, name="mine", slots=4, queues=("a", "b"), activity=lambda: activity):
        eventually(StackProcess.objects.filter(name="mine").exists, "the row is there")
        row = StackProcess.objects.get(name="mine")
        assert (row.pid, row.slots, row.busy, row.queues) == (os.getpid(), 4, 2, ["a", "b"])
        assert row.info == {"tasks_started": 3}
    assert not StackProcess.objects.filter(name="mine").exists()


def test_rows_of_dead_and_long_silent_processes_are_deleted(settings):
    settings.KEBAB_NODE_ID = "here"
    create_process(pid=2**22 + 1)
    create_process(node="elsewhere", heartbeat_at=Now() - timedelta(minutes=11))
    kept = create_process(node="elsewhere", pid=2**22 + 1)
    with Heartbeat(ProcessRole.MIRROR):
        eventually(StackProcess.objects.filter(role="mirror").exists, "the row is there")
        eventually(lambda: StackProcess.objects.filter(role="worker").count() == 1, "the old rows are gone")
    assert StackProcess.objects.get().pk == kept.pk


def test_lost_database_is_logged_once_and_the_beat_goes_on(monkeypatch, caplog):
    beats = []

    def lose_the_database() -> Activity:
        beats.append(1)
        raise OperationalError("away")

    monkeypatch.setattr("kebab.stack.nodes.registry.PERIOD_S", 0.01)
    with Heartbeat(ProcessRole.BEAT, activity=lose_the_database):
        eventually(lambda: len(beats) > 3, "several beats have failed")
    assert sum("sign of life" in record.message for record in caplog.records) == 1


def test_idle_worker_with_a_backlog_is_stuck(waiting, settings, subtests):
    assert queue_lengths(settings.REDIS_URL, [QUEUE, "empty"]) == {QUEUE: 1, "empty": 0}
    stuck = create_process(queues=[QUEUE])
    assert stuck_workers("here", settings.REDIS_URL) == [1234]
    for reason in (
        {"busy": 1},
        {"last_started_at": timezone.now()},
        {"started_at": timezone.now()},
        {"queues": ["empty"]},
        {"node": "elsewhere"},
        {"role": ProcessRole.MIRROR},
    ):
        with subtests.test(reason=reason):
            stuck.delete()
            stuck = create_process(**{"queues": [QUEUE], **reason})
            assert stuck_workers("here", settings.REDIS_URL) == []
