import os
import subprocess
import sys
from datetime import timedelta

import pytest
import redis
from django.conf import settings as django_settings
from django.db import OperationalError, connection
from django.db.models.functions import Now
from django.utils import timezone

from kebab.stack.models import ProcessRole, StackProcess
from kebab.stack.nodes.registry import Activity, Heartbeat
from kebab.stack.servers.addresses import redis_client_url
from kebab.stack.supervisor.watchdog import SelfWatchdog, stuck_workers
from tests.integration.kebab.stack.conftest import QUEUE, family, is_running
from tests.integration.kebab.stack.databases import create_process
from tests.support.stack import eventually

pytestmark = pytest.mark.django_db(transaction=True)

# A real worker that asks Redis for no message any more, as after a connection that hangs.
STUCK_WORKER = """
import sys, django
django.setup()
from datetime import timedelta
from django.core.management import call_command
from django.db import connection
from kombu.transport.redis import Channel
from kebab.stack.nodes import registry
from kebab.stack.supervisor import watchdog

connection.settings_dict["NAME"] = sys.argv[1]
registry.PERIOD_S, watchdog._STUCK_AFTER = 0.2, timedelta(seconds=2)
Channel._brpop_start = lambda self, timeout=None: None
call_command("worker", "--name", "stuck", "--queues", sys.argv[2], "--slots", "1")
"""


@pytest.fixture
def row(waiting):
    """Create the row of a worker that does not take the message."""
    return create_process(queues=[QUEUE])


@pytest.fixture
def watch():
    """Return a watchdog that counts the exits that it would have caused."""
    watching = SelfWatchdog(lambda: Activity(busy=watching.busy), end=lambda: watching.ends.append(1))
    watching.busy, watching.ends = 0, []
    return watching


def test_worker_that_is_stuck_three_times_in_a_row_ends(row, watch):
    for _ in range(2):
        watch.check(row.pk, False)
    assert not watch.ends
    watch.check(row.pk, False)
    assert watch.ends
    assert not StackProcess.objects.exists()


def redis_is_away(watch, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    return False


def postgres_was_away(watch, settings):
    return True


def something_runs(watch, settings):
    watch.busy = 1
    return False


def something_was_started(watch, settings):
    StackProcess.objects.update(last_started_at=Now())
    return False


def test_two_stuck_checks_followed_by_another_result_do_not_end_the_worker(row, watch, settings, subtests):
    redis_url = settings.REDIS_URL
    for interrupt in (redis_is_away, postgres_was_away, something_runs, something_was_started):
        with subtests.test(interrupt.__name__):
            for _ in range(3):
                for _ in range(2):
                    watch.check(row.pk, False)
                watch.check(row.pk, interrupt(watch, settings))
                settings.REDIS_URL, watch.busy = redis_url, 0
                StackProcess.objects.update(last_started_at=None)
            assert not watch.ends


def test_failed_check_resets_the_count(row, watch, monkeypatch):
    for _ in range(2):
        watch.check(row.pk, False)
    with monkeypatch.context() as patched, pytest.raises(OperationalError):
        patched.setattr("kebab.stack.supervisor.watchdog.is_stuck", lost_the_database)
        watch.check(row.pk, False)
    for _ in range(2):
        watch.check(row.pk, False)
    assert not watch.ends


def lost_the_database(*arguments):
    raise OperationalError("away")


def test_watchdog_is_told_after_each_heartbeat_if_one_was_missed(monkeypatch):
    activities = iter([Activity, lost_the_database])
    reported = []
    monkeypatch.setattr("kebab.stack.nodes.registry.PERIOD_S", 0.01)
    with Heartbeat(
        ProcessRole.WORKER,
        activity=lambda: next(activities, Activity)(),
        after_beat=lambda process_id, was_cut_off: reported.append(was_cut_off),
    ):
        eventually(lambda: len(reported) > 3, "it beats on after a gap")
    assert reported[:3] == [False, True, False]


@pytest.mark.parametrize("hours", [-1, 1])
def test_stuck_worker_is_found_with_any_local_clock(waiting, settings, monkeypatch, hours):
    settings.KEBAB_NODE_ID, right = "here", timezone.now
    monkeypatch.setattr(timezone, "now", lambda: right() + timedelta(hours=hours))
    idle = [5.0]
    monkeypatch.setattr("kebab.stack.nodes.registry.PERIOD_S", 0.01)
    beating = Heartbeat(ProcessRole.WORKER, queues=(QUEUE,), activity=lambda: Activity(idle_s=idle[0]))
    beating._began_at -= 300
    with beating:
        eventually(StackProcess.objects.exists, "the row is there")
        assert stuck_workers("here", settings.REDIS_URL) == []
        idle[0] = 65.0
        eventually(lambda: stuck_workers("here", settings.REDIS_URL) == [os.getpid()], "it is stuck")


@pytest.mark.slow
def test_real_worker_that_hangs_ends_with_its_children(settings, servers, tmp_path):
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "kebab.settings"}
    log = tmp_path / "worker.log"
    with log.open("wb") as stream:
        worker = subprocess.Popen(
            [sys.executable, "-c", STUCK_WORKER, connection.settings_dict["NAME"], QUEUE],
            env=environment,
            cwd=django_settings.BASE_DIR,
            stdout=stream,
            stderr=stream,
        )
    try:
        eventually(StackProcess.objects.filter(name="stuck").exists, "the worker is ready")
        eventually(lambda: len(family(worker.pid)) > 1, "it has children")
        processes = family(worker.pid)
        with redis.Redis.from_url(redis_client_url(settings.REDIS_URL)) as client:
            client.rpush(QUEUE, "hint")
            assert worker.wait(60) == 3
            client.delete(QUEUE)
    finally:
        worker.kill()
        worker.wait()
    assert not StackProcess.objects.exists()
    eventually(lambda: not any(map(is_running, processes)), "its children have ended")
