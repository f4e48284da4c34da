"""MCP over stdio: processes, their workspaces, and revoked tokens."""

import subprocess
import sys

import pytest
from anyio import to_thread
from mcp import MCPError

from kebab.identity.tokens import mint_token
from kebab.people.token_lifecycle import mark_revoked
from search.models import AskedQuery
from tests.api.mcp.clients import ERAS, MANAGE, PATIENCE_S, Line, environment, text_of
from tests.api.mcp.shelf import commit
from tests.support.stack import eventually

# Each test starts whole processes.
pytestmark = pytest.mark.slow


@pytest.fixture
def finds(folder):
    """Return a function that starts a process and returns which of two workspaces' words it finds."""

    def search(*words, token=""):
        async def ask(client):
            given = [{"query": query, "mode": "lexical"} for query in ("tides", "comet")]
            return [text_of(await client.call_tool("search", each)) for each in given]

        line = Line(secret="", environment=environment(folder, KEBAB_TOKEN=token), words=words)
        tides, comet = line.use(ask)
        return {"tides": "at the tides" in tides, "comet": "The comet was" in comet}

    return search


@pytest.fixture
def start_refused(folder):
    """Return a function that starts a process which must refuse, and returns its output."""

    def start(*words, token=""):
        done = subprocess.run(
            [sys.executable, str(MANAGE), "mcp", *words],
            env=environment(folder, KEBAB_TOKEN=token),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode != 0
        assert done.stdout == ""
        return " ".join(done.stderr.split())

    return start


def test_operator_reads_the_only_workspace_or_the_named_one(shelf, finds, start_refused, request):
    assert finds() == {"tides": True, "comet": False}
    other = request.getfixturevalue("other")
    output = start_refused()
    for part in ("--workspace", shelf.workspace.slug, other.slug):
        assert part in output

    assert finds("--workspace", shelf.workspace.slug) == {"tides": True, "comet": False}
    assert finds("--workspace", str(other.pk)) == {"tides": False, "comet": True}


def test_token_answers_of_its_own_workspace_only(shelf, other, finds, start_refused):
    _, secret = commit(lambda: mint_token(other, scopes=("search",)))
    for words in [(), ("--workspace", other.slug), ("--workspace", str(other.pk))]:
        assert finds(*words, token=secret) == {"tides": False, "comet": True}
    for named in (other.slug, str(other.pk), "no-such-workspace"):
        output = start_refused("--workspace", named, token=shelf.secret)
        assert "KEBAB_TOKEN" in output
        assert named in output
        assert shelf.workspace.slug not in output


def test_process_without_a_good_token_is_refused(shelf, start_refused):
    bad = "kbb_aaaaaaaaaaaa_" + "a" * 43
    for words in [(), ("--workspace", shelf.workspace.slug)]:
        assert "revoked" in start_refused(*words, token=bad)


@pytest.mark.parametrize("era", ERAS)
def test_stdio_process_refuses_calls_after_token_revocation(shelf, folder, era):
    token, secret = shelf.token("search")

    async def ask(client):
        before = await client.call_tool("search", {"query": "tides"})
        await to_thread.run_sync(lambda: commit(lambda: mark_revoked(token)))
        with pytest.raises(MCPError, match="revoked"):
            await client.call_tool("search", {"query": "tides"})
        with pytest.raises(MCPError, match="revoked"):
            await client.read_resource("guides/install.md")
        return before

    line = Line(secret=secret, era=era, environment=environment(folder, KEBAB_TOKEN=secret))
    assert not line.use(ask).is_error


def test_process_logs_its_queries_when_it_ends(shelf, folder):
    line = Line(secret=shelf.secret, environment=environment(folder, KEBAB_TOKEN=shelf.secret))
    line.text("search", query="Which package manager?")

    def is_kept():
        asked = AskedQuery.objects.in_workspace(shelf.workspace).filter(text="Which package manager?")
        return asked.filter(door="mcp", hits__gt=0).exists()

    eventually(lambda: commit(is_kept), "the process has ended")
