"""The router of the Kubernetes manifests, in front of nodes that return their names."""

from collections.abc import Iterator

import httpx
import pytest

from tests.acceptance.deploy.named_node import NamedNode
from tests.acceptance.deploy.router import run_router
from tests.support.stack import eventually, free_port

pytestmark = pytest.mark.slow

SLUGS = [f"w{n}" for n in range(24)]


@pytest.fixture
def nodes() -> Iterator[list[NamedNode]]:
    nodes_ = [NamedNode(name, free_port()) for name in ("node-0", "node-1")]
    yield nodes_
    for node in nodes_:
        node.end()


@pytest.fixture
def router(nodes, tmp_path) -> Iterator[httpx.Client]:
    """Yield a client of the router, whose first two servers are these nodes."""
    with (
        run_router([node.server_port for node in nodes], tmp_path, pytest.skip) as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client,
    ):
        client.log = tmp_path / "log"
        eventually(lambda: len(set(routes(client))) == 2, "the router asks both nodes", 30)
        yield client


def routes(client):
    try:
        return [client.get(f"/w/{slug}/").text for slug in SLUGS]
    except httpx.HTTPError:
        return []


def test_workspace_and_token_have_one_node_each(router):
    nodes = routes(router)
    assert routes(router) == nodes
    assert [router.post(f"/api/v1/workspaces/{slug}/search").text for slug in SLUGS] == nodes
    calls = [router.post("/mcp", headers={"Authorization": f"Bearer kbb_{slug}_a"}).text for slug in SLUGS]
    again = [router.post("/mcp", headers={"Authorization": f"Bearer kbb_{slug}_b"}).text for slug in SLUGS]
    assert calls == again
    assert set(calls) == {"node-0", "node-1"}


def test_draining_node_gets_no_requests_and_its_workspaces_back_later(router, nodes):
    before = routes(router)
    nodes[0].is_draining = True
    eventually(lambda: set(routes(router)) == {"node-1"}, "the draining node is left alone", 30)
    nodes[0].is_draining = False
    eventually(lambda: routes(router) == before, "it has its workspaces again", 30)


def test_dead_node_fails_no_reading_request(router, nodes):
    nodes[1].end()
    assert set(routes(router)) == {"node-0"}
    found = {router.post(f"/api/v1/workspaces/{slug}/search").text for slug in SLUGS}
    assert found == {"node-0"}


def test_answer_without_nodes_is_503_with_retry_after(router, nodes):
    for node in nodes:
        node.end()
    answer = router.get("/w/w0/")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert answer.json()["code"] == "no_node"


def test_metrics_are_not_public_and_logs_omit_queries_and_secrets(router):
    assert router.get("/metrics").status_code == 404
    assert router.get("/%6detrics").status_code == 404
    assert router.get("/router/healthz").status_code == 200
    router.get("/invitations/very-secret")
    router.get("/%69nvitations/very-secret")
    router.get("/api/v1/workspaces/w0/search?q=confidential")
    router.get("/w/marks-the-end/")
    eventually(lambda: "marks-the-end" in router.log.read_text(), "the log is written", 30)
    assert "very-secret" not in router.log.read_text()
    assert "confidential" not in router.log.read_text()
