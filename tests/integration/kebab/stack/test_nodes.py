"""Nodes come and go: what a node leaves behind is forgotten, by and by or when somebody says so."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from kebab.api.errors import Conflict, NotFound
from kebab.cli.errors import Exit
from kebab.stack.models import StackProcess
from kebab.stack.nodes import forget_node, nodes
from tests.cli.running import error_of, run_json

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _servers_run_already(monkeypatch):
    from contextlib import nullcontext

    from kebab.cli import verb

    monkeypatch.setattr(verb, "borrowed_stack", lambda *_, **__: nullcontext())


def process(node, role, age_s=1):
    fields = {"node": node, "role": role, "name": role, "pid": 1, "started_at": Now()}
    StackProcess.objects.create(**fields, heartbeat_at=Now() - timedelta(seconds=age_s))


def test_nodes_are_listed_with_what_runs_there():
    process("one", "web")
    process("one", "mirror", age_s=3)
    process("two", "web", age_s=120)
    found = {row.node: (row.processes, row.roles, row.is_alive) for row in nodes()}
    assert found == {"one": (2, ("mirror", "web"), True), "two": (1, ("web",), False)}


def test_a_node_that_has_ended_is_forgotten_and_one_that_lives_is_not():
    process("one", "web")
    process("two", "web", age_s=120)
    assert forget_node("two") == 1
    with pytest.raises(Conflict, match="alive"):
        forget_node("one")
    with pytest.raises(NotFound, match="there are: one"):
        forget_node("two")


def test_the_verb_lists_and_forgets():
    process("one", "web")
    process("two", "web", age_s=120)
    assert [row["node"] for row in run_json("node", "list")["nodes"]] == ["one", "two"]
    assert run_json("node", "forget", "two")["processes"] == 1
    assert error_of("node", "forget", "one", code=Exit.NOTHING)["code"] == "node_alive"
