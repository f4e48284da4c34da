"""The last queries are stored when a process ends, also by a signal, before the servers stop."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from kebab.cli.in_process import connect_in_process
from kebab.identity.models import Workspace
from kebab.identity.tokens import mint_token
from kebab.stack.servers import borrowed_servers
from search.models import AskedQuery
from tests.api.mcp.clients import MANAGE, PATIENCE_S, environment, raw_line
from tests.support.corpus import make_workspace
from tests.support.stack import eventually, free_port


@pytest.fixture
def secret(transactional_db):
    """Return the secret of a token with scope search, for processes on the test database."""
    return mint_token(make_workspace(), scopes=["search"])[1]


@pytest.fixture
def surroundings(tmp_path, secret):
    """Return the environment of a process that writes only when it ends."""
    own = {"KEBAB_QUERY_LOG_EVERY_S": "3600", "KEBAB_MIRROR_DIR": str(tmp_path / "mirrors")}
    return {**os.environ, **environment(tmp_path, KEBAB_TOKEN=secret, **own)}


@contextmanager
def web_process(surroundings):
    port = free_port()
    words = [sys.executable, str(MANAGE), "web", "--port", str(port)]
    with subprocess.Popen(words, env=surroundings) as process:
        try:
            eventually(lambda: answer(f"http://127.0.0.1:{port}/healthz"), "the web process answers")
            yield process, f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def answer(url, secret=""):
    """Return the status, or None while nothing listens."""
    try:
        asked = Request(url, headers={"Authorization": f"Bearer {secret}"} if secret else {})  # noqa: S310
        return urlopen(asked, timeout=PATIENCE_S).status  # noqa: S310  # our own server
    except URLError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_terminated_web_process_writes_its_queries(surroundings, secret, workers):
    workspace = Workspace.objects.get()
    with web_process({**surroundings, "KEBAB_WEB_WORKERS": workers}) as (process, url):
        assert answer(f"{url}/api/v1/workspaces/{workspace.slug}/search?q=apple&mode=lexical", secret) == 200
        assert not AskedQuery.objects.exists()
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)

    assert AskedQuery.objects.get().text == "apple"


@pytest.mark.slow
def test_mcp_process_writes_its_queries_when_its_client_leaves(surroundings):
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    with raw_line(surroundings) as line:
        line.send("initialize", id=1, params=hello)
        line.read_until(lambda message: message.get("id") == 1)
        line.send("notifications/initialized")
        asked = {"name": "search", "arguments": {"query": "apple", "mode": "lexical"}}
        line.send("tools/call", id=2, params=asked)
        line.read_until(lambda message: message.get("id") == 2)
        line.process.stdin.close()
        line.process.wait(PATIENCE_S)

    assert AskedQuery.objects.get().text == "apple"


def test_command_writes_its_queries_before_its_servers_stop(searched_workspace, log, monkeypatch):
    kept = []

    @contextmanager
    def read_queries_first(*_, **__):
        yield
        kept.extend(AskedQuery.objects.values_list("text", flat=True))

    monkeypatch.setattr(borrowed_servers, "borrow_stack", read_queries_first)
    with connect_in_process("servers") as connection:
        asked = {"q": "Apple", "mode": "lexical"}
        connection.post(f"/workspaces/{searched_workspace.slug}/search", asked)

    assert kept == ["Apple"]
