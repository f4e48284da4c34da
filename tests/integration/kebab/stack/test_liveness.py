"""What `kebab alive` says of a process without a port."""

from datetime import timedelta

import pytest
import redis
from django.db.models.functions import Now
from django.utils import timezone

from kebab.stack.addresses import redis_client_url
from kebab.stack.models import ProcessRole, StackProcess
from tests.cli.running import run_json

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def worker(settings):
    settings.KEBAB_NODE_ID = "here"
    values = {
        "node": "here",
        "role": ProcessRole.WORKER,
        "name": "worker",
        "pid": 7,
        "queues": ["alive-test"],
    }
    started = timezone.now() - timedelta(minutes=5)
    return StackProcess.objects.create(**values, started_at=started, heartbeat_at=timezone.now())


@pytest.fixture
def waiting(settings):
    with redis.Redis.from_url(redis_client_url(settings.REDIS_URL)) as client:
        client.rpush("alive-test", "hint")
        yield
        client.delete("alive-test")


def test_a_worker_that_beats_is_alive(worker):
    assert run_json("alive", "worker") == {"name": "worker", "alive": True, "complaint": ""}


def test_one_that_has_not_begun_yet_is_left_alone(worker):
    assert run_json("alive", "embedder")["alive"]


def test_a_silent_worker_is_not_alive(worker):
    StackProcess.objects.update(heartbeat_at=Now() - timedelta(minutes=1))
    assert "no sign of life" in run_json("alive", "worker", code=3)["complaint"]


def test_a_worker_that_has_work_and_does_none_is_not_alive(worker, waiting):
    assert "has work and does none" in run_json("alive", "worker", code=3)["complaint"]


def test_the_row_of_a_killed_predecessor_does_not_count(worker):
    StackProcess.objects.update(heartbeat_at=Now() - timedelta(minutes=1))
    fresh = timezone.now()
    StackProcess.objects.create(
        node="here", role=ProcessRole.WORKER, name="worker", pid=8, started_at=fresh, heartbeat_at=fresh
    )
    assert run_json("alive", "worker")["alive"]
