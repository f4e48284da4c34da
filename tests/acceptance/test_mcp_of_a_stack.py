"""MCP of a running stack, by its web processes and by the command."""

import re

import anyio
import pytest
from mcp import MCPError

from tests.acceptance.notes import write_notes
from tests.api.mcp.clients import ERAS, Line, text_of

_CLIENTS = 20
_PATIENCE_S = 90


@pytest.fixture(scope="module")
def filled_client(client, run_command, tmp_path_factory):
    notes = write_notes(tmp_path_factory.mktemp("notes"))
    run_command("ingest", str(notes), "--workspace", client.slug, "--source", "notes")
    return client


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
def test_twenty_concurrent_clients_are_answered_by_any_process(stack, filled_client, era):
    answers = []

    async def one():
        async with Line(url=stack.url, secret=filled_client.token, era=era).client() as client:
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
        # On a busy machine a leg may time out, which is reported.
        assert "lantern.md#L" in text_of(answer) or "Answered without the whole" in text_of(answer)


def test_revocation_of_a_token_ends_its_session(stack, filled_client, run_command):
    token = run_command("token", "create", "--workspace", filled_client.slug, "--scope", "search")
    line = Line(url=stack.url, secret=token["token"])

    async def ask(client):
        before = await client.call_tool("search", {"query": "lantern"})
        await anyio.to_thread.run_sync(lambda: run_command("token", "revoke", token["id"]))
        with pytest.raises(MCPError):
            await client.call_tool("search", {"query": "lantern"})
        return before

    assert not line.use(ask).is_error


def test_command_answers_like_http(stack, filled_client):
    own = {name: value for name, value in stack.environment.items() if re.match("KEBAB_", name)}
    own |= {"KEBAB_TOKEN": filled_client.token, "KEBAB_URL": stack.url}  # where its hits lead
    by_process = Line(secret=filled_client.token, environment=own)
    over_http = Line(url=stack.url, secret=filled_client.token)
    arguments = {"query": "keep the lantern dry", "detail": "passages"}

    assert by_process.text("search", **arguments) == over_http.text("search", **arguments)
