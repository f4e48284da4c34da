"""Bodies above 1 MB over a real connection are received only from authorised callers."""

import socket

import httpx
import pytest

from ingest.models import Job
from kebab.identity.tokens import mint_token
from tests.api.mcp.web_server import running_web_server
from tests.support.api import address
from tests.support.corpus import make_workspace


@pytest.fixture
def target(transactional_db):
    """Yield the URL for uploads of a served workspace, with the workspace."""
    workspace = make_workspace()
    with running_web_server() as url:
        yield f"{url}{address(workspace, '/documents')}", workspace


def authorization(workspace, scope):
    return {"Authorization": f"Bearer {mint_token(workspace, scopes=[scope])[1]}"}


def test_long_body_reaches_the_view_whole(target):
    url, workspace = target
    body = {"path": "long.md", "text": "# Long\n\n" + "A wombat digs. " * 150_000}
    headers = authorization(workspace, "ingest") | {"Idempotency-Key": "once"}
    answers = [httpx.post(url, json=body, headers=headers, timeout=60) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [202, 202]
    assert "Idempotency-Replayed" in answers[1].headers
    assert Job.objects.in_workspace(workspace).count() == 1


@pytest.mark.parametrize(("scope", "status"), [(None, 401), ("search", 403)])
def test_unauthorised_upload_is_refused_before_its_body_arrives(target, scope, status):
    url, workspace = target
    headers = {} if scope is None else authorization(workspace, scope)
    lines = [f"{name}: {value}" for name, value in headers.items()]
    where = httpx.URL(url)
    head = [f"POST {where.path} HTTP/1.1", f"Host: {where.host}", "Content-Length: 5000000", *lines]
    with socket.create_connection((where.host, where.port), timeout=30) as client:
        client.sendall("\r\n".join([*head, "Content-Type: application/json", "", ""]).encode())
        assert int(client.recv(1_000).split()[1]) == status
