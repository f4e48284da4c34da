"""Workspaces share the threads of MCP fairly when one makes more calls than there are threads."""

import threading
from functools import partial

import anyio
import pytest
from mcp import Client, MCPError

from kebab.http.admission.fair_queue import Capacity, FairQueue
from kebab.identity.caller import Caller, token_access
from kebab.identity.tokens import mint_token, verify_token
from kebab.observability.metrics.refusals import PROBLEMS
from search.mcp import server
from search.mcp.server import mcp_server
from search.mcp.threads import Lane, Lanes, answer_in_thread
from search.mcp.tools import registry
from tests.api.mcp.clients import PATIENCE_S, Line, text_of
from tests.api.mcp.shelf import commit

_CALLS = 12


@pytest.fixture
def holding(shelf, monkeypatch):
    """Hold calls of the shelf's workspace; yield a semaphore of arrivals and the event that lets them go."""
    arrived, let_go = threading.Semaphore(0), threading.Event()
    answer_call, in_thread = registry.answer_call, server.answer_in_thread

    def hold(tool, given, call):
        assert call.access.workspace.pk != shelf.workspace.pk or let_go.wait(PATIENCE_S)
        return answer_call(tool, given, call)

    def arrive(*args, **kwargs):
        arrived.release()
        return in_thread(*args, **kwargs)

    monkeypatch.setattr(registry, "answer_call", hold)
    monkeypatch.setattr(server, "answer_in_thread", arrive)
    yield arrived, let_go
    let_go.set()


def test_waiting_calls_of_one_workspace_do_not_block_another(url, shelf, other, holding):
    arrived, let_go = holding
    _, secret = commit(lambda: mint_token(other, scopes=("search",)))
    asked = {"query": "comet", "mode": "lexical"}
    answers = []

    async def ask(own):
        async with Line(url=url, secret=own).client() as client:
            answers.append((own, await client.call_tool("search", asked)))

    async def all_():
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                for _ in range(_CALLS):
                    group.start_soon(ask, shelf.secret)
                for _ in range(_CALLS):
                    await anyio.to_thread.run_sync(arrived.acquire)
                await ask(secret)
                let_go.set()

    anyio.run(all_)

    (answer,) = [result for own, result in answers if own == secret]
    assert not answer.is_error
    assert len(answers) == _CALLS + 1


@pytest.fixture
def counted_problems(monkeypatch):
    """Return the list to which each counted problem is added."""
    seen = []
    monkeypatch.setattr(PROBLEMS, "add", lambda *values: seen.append(values))
    return seen


def access(shelf):
    token = verify_token(shelf.secret)
    return token_access(Caller(token=token), token)


def test_call_above_capacity_is_refused_after_a_delay_and_counted_once(shelf, counted_problems, monkeypatch):
    turns = FairQueue(Capacity(slots=1, waiting=0, wait_s=0.0))
    held_back = []

    async def hold_back():
        held_back.append(turns)

    monkeypatch.setattr(turns, "hold_back", hold_back)
    full = mcp_server(
        lambda context: [access(shelf)], lane_of=lambda context, is_long: Lane(queue=turns, name="own")
    )

    async def ask():
        await turns.acquire("another")
        async with Client(full) as client:
            refusal = await client.call_tool("search", {"query": "tides"})
            with pytest.raises(MCPError, match="overloaded"):
                await client.read_resource("hooks.md")
            return refusal

    refusal = anyio.run(ask)

    assert refusal.is_error
    assert text_of(refusal).startswith("overloaded:")
    assert counted_problems == [("503", "overloaded")] * 2
    assert held_back == [turns] * 2
    assert turns.n_lent == 1


def test_abandoned_call_holds_its_turn_until_its_thread_ends():
    began, let_go = threading.Event(), threading.Event()

    def work(call):
        began.set()
        assert let_go.wait(PATIENCE_S)

    async def give_up():
        turns = FairQueue(Capacity(slots=1, waiting=0, wait_s=0.0))
        answer = partial(answer_in_thread, lane=Lane(queue=turns, name="own"))
        async with anyio.create_task_group() as group:
            group.start_soon(answer, lambda: [None], work, None)
            await anyio.to_thread.run_sync(began.wait)
            group.cancel_scope.cancel()
        assert turns.n_lent == 1
        let_go.set()
        with anyio.fail_after(PATIENCE_S):
            while turns.n_lent:
                await anyio.sleep(0.01)

    anyio.run(give_up)


def test_slow_and_quick_calls_have_separate_queues():
    lanes = Lanes()
    quick, long = (lanes.of("a", is_long=is_long) for is_long in (False, True))

    assert quick.queue is not long.queue
    assert quick.queue is lanes.of("a", is_long=False).queue
    assert quick.name == long.name == "a"
