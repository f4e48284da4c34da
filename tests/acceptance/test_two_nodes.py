import contextlib
import json
import subprocess
import sys

import pytest
import redis

from kebab.stack.paths import DataDirectory
from kebab.stack.servers import addresses, secrets
from kebab.stack.servers.addresses import redis_client_url
from tests.support.stack import MANAGE, Stack, eventually, temporary_directory

pytestmark = pytest.mark.slow


class Node:
    """A second node with its own data directory and mirrors, and the first one's Postgres and Redis."""

    def __init__(self, first: Stack, name: str = "node-b") -> None:
        self.stack = Stack(
            temporary_directory(),
            KEBAB_BLOBS_URL=f"file://{DataDirectory(first.data_dir).blobs}",
            KEBAB_EMBEDDER="hash",
            KEBAB_NODE_ID=name,
            KEBAB_WEB_WORKERS="1",
            KEBAB_SECRET_KEY=secrets.load_or_create(first.data_dir).secret_key,
            DATABASE_URL=addresses.database_url(first.data_dir),
            REDIS_URL=addresses.redis_url(first.data_dir),
        )

    @contextlib.contextmanager
    def run_process(self, command: str):
        with (self.stack.data_dir / f"{command}.log").open("ab") as log:
            process = self.stack.start(command, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(60)

    def applied_seq(self, slug: str) -> int:
        """Return the change number that its mirror of a workspace has applied."""
        listing = json.loads(self.stack.run("status", "--json").stdout)
        rows = listing["reports"]["mirrors"]
        return next((row["applied_seq"] for row in rows if row["workspace"] == slug), 0)


@pytest.fixture(scope="module")
def second(stack):
    node = Node(stack)
    with node.run_process("web"):
        eventually(node.stack.answers, "the second node serves")
        yield node
    node.stack.remove()


@pytest.fixture
def remote_client(client, second):
    """Yield the module's client at the second node."""
    client = client.at(second.stack.url)
    yield client
    client.close()


def paths(answer: dict) -> list[str]:
    return [hit["doc_path"] for hit in answer["hits"]]


def test_write_through_one_node_is_found_on_the_other(client, remote_client, second):
    with second.run_process("mirror"):
        for number in range(3):
            text = f"# Note\n\nA curlew{number} calls.\n"
            written = client.upload(f"{number}.md", text, wait_for="searchable")
            found = remote_client.search(f"curlew{number}", mode="lexical", min_seq=written["seq"])
            assert paths(found)[0] == f"{number}.md"
            assert (found["seq"], found["lag"]) == (written["seq"], 0)


def test_write_is_found_on_a_node_whose_mirror_process_was_down(client, remote_client, second):
    with second.run_process("mirror") as process:
        first = client.upload("first.md", "# First\n\nA dipper.\n", wait_for="searchable")
        assert paths(remote_client.search("dipper", mode="lexical", min_seq=first["seq"])) == ["first.md"]
        process.kill()
        written = client.upload("later.md", "# Later\n\nA bittern.\n", wait_for="searchable")
    assert paths(remote_client.search("bittern", mode="lexical", min_seq=written["seq"])) == ["later.md"]


def test_mirror_process_catches_up_by_itself(client, remote_client, second):
    first = client.upload("first.md", "# First\n\nFirst.\n", wait_for="searchable")
    remote_client.search("first", min_seq=first["seq"])  # a node builds a mirror on its first search
    written = client.upload("missed.md", "# Missed\n\nA godwit.\n", wait_for="searchable")
    with second.run_process("mirror"):
        eventually(lambda: second.applied_seq(client.slug) == written["seq"], "the mirror has caught up")
    assert paths(remote_client.search("godwit", mode="lexical")) == ["missed.md"]


def test_joining_node_has_its_mirrors_before_it_is_ready(client, remote_client, second):
    written = client.upload("warm.md", "# Warm\n\nA plover.\n", wait_for="searchable")
    warmed = second.stack.run("mirror", "warm", "--workspace", client.slug, "--json")
    assert json.loads(warmed.stdout)["mirrors"] == 1
    assert second.applied_seq(client.slug) == written["seq"]
    assert paths(remote_client.search("plover", mode="lexical")) == ["warm.md"]


def test_killed_node_can_be_forgotten(stack, run_command):
    def listed_nodes() -> dict[str, bool]:
        return {row["node"]: row["is_alive"] for row in run_command("node", "list")["nodes"]}

    node = Node(stack, "node-c")
    with node.run_process("mirror") as process:
        eventually(lambda: listed_nodes().get("node-c"), "the node is listed")
        process.kill()
    assert stack.run("node", "forget", "node-c").returncode == 1
    eventually(lambda: not listed_nodes()["node-c"], "the node is silent", 90.0, poll_s=1.0)
    assert run_command("node", "forget", "node-c")["processes"] == 1
    assert "node-c" not in listed_nodes()
    listing = json.loads(stack.run("status", "--json").stdout)
    assert "node-c" not in {row["node"] for row in listing["processes"]}
    address = redis_client_url(addresses.redis_url(stack.data_dir))
    with redis.Redis.from_url(address) as client:
        assert [key for key in client.scan_iter() if b"node-c" in key] == []
    node.stack.remove()


def test_external_database_without_a_secret_key_is_rejected(second):
    environment = {n: v for n, v in second.stack.environment.items() if n != "KEBAB_SECRET_KEY"}
    refused = subprocess.run(
        [sys.executable, str(MANAGE), "status"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert refused.returncode != 0
    assert "KEBAB_SECRET_KEY" in refused.stderr
