"""Of which workspace a process answers that its client started, where there are several."""

import subprocess
import sys

import pytest

from kebab.people.tokens import mint_token
from tests.api.mcp.shelf import committed
from tests.api.mcp.speaking import MANAGE, PATIENCE_S, Line, environment, said


@pytest.fixture
def finds(folder):
    """Start a process with a token, or as the operator; give which of the two workspaces' words it finds."""

    def search(*words, token=""):
        async def ask(client):
            given = [{"query": query, "mode": "lexical"} for query in ("tides", "comet")]
            return [said(await client.call_tool("search", each)) for each in given]

        line = Line(secret="", environment=environment(folder, KEBAB_TOKEN=token), words=words)
        tides, comet = line.use(ask)
        return {"tides": "at the tides" in tides, "comet": "The comet was" in comet}

    return search


@pytest.fixture
def refused(folder):
    """Start a process that has to refuse; give what it tells."""

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


def test_an_operators_process_reads_the_only_workspace(shelf, finds):
    assert finds() == {"tides": True, "comet": False}


def test_an_operator_says_which_of_several_workspaces(shelf, other, finds, refused):
    told = refused()
    assert "Say which workspace with --workspace" in told
    assert shelf.workspace.slug in told
    assert other.slug in told

    assert finds("--workspace", shelf.workspace.slug) == {"tides": True, "comet": False}
    assert finds("--workspace", str(other.pk)) == {"tides": False, "comet": True}


def test_a_token_answers_of_its_own_workspace_named_or_not(shelf, other, finds):
    _, secret = committed(lambda: mint_token(other, scopes=("search",)))

    for words in [(), ("--workspace", other.slug), ("--workspace", str(other.pk))]:
        assert finds(*words, token=secret) == {"tides": False, "comet": True}


def test_a_token_of_another_workspace_than_the_named_one_is_refused(shelf, other, refused):
    for named in (other.slug, str(other.pk), "no-such-workspace"):
        told = refused("--workspace", named, token=shelf.secret)
        assert f"KEBAB_TOKEN is not of the workspace '{named}'" in told
        assert shelf.workspace.slug not in told


def test_without_a_good_token_no_workspace_is_served(shelf, refused):
    bad = "kbb_aaaaaaaaaaaa_" + "a" * 43
    for words in [(), ("--workspace", shelf.workspace.slug)]:
        assert "unknown, expired or revoked" in refused(*words, token=bad)
