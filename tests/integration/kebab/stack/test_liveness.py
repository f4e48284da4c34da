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


def test_beating_or_unstarted_process_is_alive(worker):
    assert run_json("alive", "worker") == {"name": "worker", "alive": True, "complaint": ""}
    assert run_json("alive", "embedder")["alive"]


def test_silent_worker_is_not_alive_unless_it_has_a_successor(worker):
    StackProcess.objects.update(heartbeat_at=Now() - timedelta(minutes=1))
    assert run_json("alive", "worker", code=3)["complaint"]
    fresh = timezone.now()
    StackProcess.objects.create(
        node="here", role=ProcessRole.WORKER, name="worker", pid=8, started_at=fresh, heartbeat_at=fresh
    )
    assert run_json("alive", "worker")["alive"]


def test_worker_that_leaves_its_messages_is_not_alive(worker, waiting):
    assert run_json("alive", "worker", code=3)["complaint"]
