"""MCP of a running stack, whose web processes share its port, and by the verb beside it."""

import re

import anyio
import pytest
from mcp import MCPError

from tests.acceptance.notes import write_notes
from tests.api.mcp.clients import ERAS, Line, text_of

_CLIENTS = 20
_PATIENCE_S = 90


@pytest.fixture(scope="module")
def filled(client, verb, tmp_path_factory):
    notes = write_notes(tmp_path_factory.mktemp("notes"))
    verb("ingest", str(notes), "--workspace", client.slug, "--source", "notes")
    return client


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
def test_twenty_clients_at_once_are_answered_by_whichever_process_they_meet(stack, filled, era):
    answers = []

    async def one():
        async with Line(url=stack.url, secret=filled.token, era=era).client() as client:
            assert len((await client.list_tools()).tools) == 6
            for _ in range(3):
                answers.append(await client.call_tool("search", {"query": "care of the lantern"}))

    async def all_at_once():
        with anyio.fail_after(_PATIENCE_S):
            async with anyio.create_task_group() as group:
                for _ in range(_CLIENTS):
                    group.start_soon(one)

    anyio.run(all_at_once)

    assert len(answers) == 3 * _CLIENTS
    for answer in answers:
        assert not answer.is_error
        # On a busy machine a leg may be stopped at its limit, and says so.
        assert "lantern.md#L" in text_of(answer) or "Answered without the whole" in text_of(answer)


def test_a_token_that_a_verb_revokes_ends_a_session(stack, filled, verb):
    made = verb("token", "create", "--workspace", filled.slug, "--scope", "search")
    line = Line(url=stack.url, secret=made["token"])

    async def ask(client):
        before = await client.call_tool("search", {"query": "lantern"})
        await anyio.to_thread.run_sync(lambda: verb("token", "revoke", made["id"]))
        with pytest.raises(MCPError):
            await client.call_tool("search", {"query": "lantern"})
        return before

    assert not line.use(ask).is_error


def test_the_verb_answers_as_http_does(stack, filled):
    own = {name: value for name, value in stack.environment.items() if re.match("KEBAB_", name)}
    by_process = Line(secret=filled.token, environment={**own, "KEBAB_TOKEN": filled.token})
    over_http = Line(url=stack.url, secret=filled.token)
    asked = {"query": "keep the lantern dry", "detail": "passages"}

    assert by_process.text("search", **asked) == over_http.text("search", **asked)
