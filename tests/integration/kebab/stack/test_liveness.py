from datetime import timedelta

import pytest
from django.db.models.functions import Now

from kebab.stack.models import StackProcess
from tests.cli.commands import error_of, run_json
from tests.integration.kebab.stack.conftest import QUEUE
from tests.integration.kebab.stack.databases import create_process

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def worker(settings):
    settings.KEBAB_NODE_ID = "here"
    return create_process(queues=[QUEUE])


def test_beating_process_is_alive(worker):
    assert run_json("alive", "worker") == {"name": "worker", "alive": True, "complaint": ""}


@pytest.mark.parametrize("name", ["embedder", "wroker"])
def test_process_that_has_not_started_or_that_nothing_is_named_is_unknown(worker, name):
    create_process(node="there", name="embedder")
    assert error_of("alive", name, code=1)["code"] == "not_found"


def test_silent_worker_is_not_alive_unless_it_has_a_successor(worker):
    StackProcess.objects.update(heartbeat_at=Now() - timedelta(minutes=1))
    assert run_json("alive", "worker", code=3)["complaint"]
    create_process(pid=8, started_at=Now())
    assert run_json("alive", "worker")["alive"]


def test_worker_with_unread_messages_is_not_alive(worker, waiting):
    assert run_json("alive", "worker", code=3)["complaint"]
