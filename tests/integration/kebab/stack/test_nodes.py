from datetime import timedelta

import pytest
from django.db.models.functions import Now

from kebab.errors import Conflict, NotFound
from kebab.exit_codes import Exit
from kebab.stack.nodes.registry import forget_node, list_nodes
from tests.cli.commands import error_of, run_json
from tests.integration.kebab.stack.databases import create_process

pytestmark = pytest.mark.django_db


def process(node, role, age_s=1):
    create_process(role, node=node, heartbeat_at=Now() - timedelta(seconds=age_s))


def test_nodes_are_listed_with_their_processes():
    process("one", "web")
    process("one", "mirror", age_s=3)
    process("two", "web", age_s=120)
    found = {row["node"]: (row["processes"], row["roles"], row["is_alive"]) for row in list_nodes()}
    assert found == {"one": (2, ["mirror", "web"], True), "two": (1, ["web"], False)}


def test_ended_node_is_forgotten_and_a_live_one_is_not():
    process("one", "web")
    process("two", "web", age_s=120)
    assert [row["node"] for row in run_json("node", "list")["nodes"]] == ["one", "two"]
    assert run_json("node", "forget", "two")["processes"] == 1
    assert error_of("node", "forget", "one", code=Exit.ERROR)["code"] == "node_alive"
    with pytest.raises(Conflict):
        forget_node("one")
    with pytest.raises(NotFound, match="one"):
        forget_node("two")
