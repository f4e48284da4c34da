"""Cancelled calls, progress notifications and concurrent clients of MCP."""

import json
import threading
from contextlib import ExitStack

import anyio
import pytest

from kebab.identity.caller import Caller, token_access
from kebab.identity.tokens import verify_token
from search.mcp.call_context import Call, CallStopped
from search.mcp.http import read_cancelled_id
from search.mcp.threads import answer_in_thread
from search.mcp.tools import registry
from search.models import KeptAnswer
from tests.api.mcp.clients import ERAS, Line, environment, raw_line, text_of
from tests.integration.search.answers.fixtures import use_url
from tests.integration.search.answers.stub import serving_model
from tests.support.runtime import renew_runtime
from tests.support.stack import eventually

PATIENCE_S = 20
_CLIENTS = 8
_SUBJECTS = ["harbour", "lantern", "orchard", "glacier", "compass", "anchor", "beacon", "tiller"]
_QUESTION = "Which command of the package manager installs kebab on Linux?"
_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}


@pytest.fixture
def hanging(settings):
    """Configure a model that starts to answer and then sends nothing until the client leaves."""

    def behave(exchange):
        exchange.begin_stream()
        exchange.send_piece("The ")
        while not exchange.server.released.wait(0.02):
            exchange.send_remark("still there")

    with ExitStack() as stack:
        stub = stack.enter_context(serving_model(behave))
        use_url(settings, stub.url)
        yield stub
    renew_runtime()


@pytest.fixture
def own_model(hanging):
    """Return the environment of a process that uses the hanging model."""
    return {"KEBAB_ANSWER_URL": hanging.url, "KEBAB_ANSWER_MODEL": "parrot"}


@pytest.mark.parametrize(
    "way",
    ["http-auto", "http-legacy", *(pytest.param(f"stdio-{era}", marks=pytest.mark.slow) for era in ERAS)],
)
def test_cancelled_call_stops_the_model(url, shelf, folder, hanging, own_model, way):
    at, era = way.split("-")
    own = environment(folder, KEBAB_TOKEN=shelf.secret, **own_model)
    line = Line(url=url if at == "http" else "", secret=shelf.secret, era=era, environment=own)

    async def give_up(client):
        writing = anyio.Event()

        async def note_progress(progress, total, message):
            if message == "writing":
                writing.set()

        async with anyio.create_task_group() as group:

            async def ask():
                await client.call_tool("ask", {"question": _QUESTION}, progress_callback=note_progress)

            group.start_soon(ask)
            await writing.wait()
            group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            left = await anyio.to_thread.run_sync(hanging.was_left.wait, PATIENCE_S)
        return left, await client.call_tool("search", {"query": "package manager"})

    left, after = line.use(give_up)
    assert left
    assert "apt install" in text_of(after)


def test_progress_is_sent_during_a_call(line):
    steps = []

    async def hear(progress, total, message):
        steps.append((progress, total))

    async def ask(client):
        given = {"information_request": "How are strings scanned?", "source": "stdlib"}
        return await client.call_tool("codebase-retrieval", given, progress_callback=hear)

    assert not line.use(ask).is_error
    assert steps == [(0, 2), (1, 2)]


def test_abandoned_call_stops_at_its_next_step():
    began, waiting, stopped = threading.Event(), threading.Event(), threading.Event()

    def work(call):
        began.set()
        assert waiting.wait(PATIENCE_S)
        try:
            call.step(1, 2, "on")
        except CallStopped:
            stopped.set()
            raise

    async def report(done, total, message):
        raise AssertionError("nobody listens")

    async def give_up():
        async with anyio.create_task_group() as group:
            group.start_soon(answer_in_thread, lambda: [None], work, report)
            await anyio.to_thread.run_sync(began.wait)
            group.cancel_scope.cancel()
        waiting.set()
        return await anyio.to_thread.run_sync(stopped.wait, PATIENCE_S)

    assert anyio.run(give_up)


def test_stopped_call_is_cancelled():
    def work(call):
        raise CallStopped

    async def call():
        with pytest.raises(anyio.get_cancelled_exc_class()):
            await answer_in_thread(lambda: [None], work, report=None)

    anyio.run(call)


def test_call_stopped_before_it_runs_asks_no_model(shelf, hanging):
    token = verify_token(shelf.secret)
    call = Call(access=token_access(Caller(token=token), token), stop=threading.Event())
    call.stop.set()
    for name, given in (
        ("search", {"query": "tides"}),
        ("codebase-retrieval", {"information_request": "How are strings scanned?"}),
        ("ask", {"question": _QUESTION}),
    ):
        with pytest.raises(CallStopped):
            registry.answer_call(registry.TOOLS[name], given, call)
    assert hanging.requests == []


def test_only_short_bodies_are_parsed_for_cancellation(subtests):
    message = {"method": "notifications/cancelled", "params": {"requestId": 7}}

    async def receive():
        return {"type": "http.request", "body": json.dumps(message).encode(), "more_body": False}

    async def look(length):
        found, again = await read_cancelled_id({"Content-Length": length}, receive)
        assert json.loads((await again())["body"]) == message
        return found

    for length, call in (
        ("80", 7),
        ("0" * 5_000 + "80", 7),
        ("10001", None),
        ("9" * 5_000, None),
        ("", None),
    ):
        with subtests.test(length=length[:9]):
            assert anyio.run(look, length) == call


@pytest.mark.slow
def test_cancelled_call_gets_no_response(shelf, folder, hanging, own_model):
    asked = {"name": "ask", "arguments": {"question": _QUESTION}, "_meta": {"progressToken": "p"}}
    with raw_line(environment(folder, KEBAB_TOKEN=shelf.secret, **own_model)) as line:
        line.send("initialize", id=1, params=_HELLO)
        line.read_until(lambda message: message.get("id") == 1)
        line.send("notifications/initialized")
        line.send("tools/call", id=2, params=asked)
        line.read_until(lambda message: message.get("params", {}).get("message") == "writing")
        line.send("notifications/cancelled", params={"requestId": 2})
        assert hanging.was_left.wait(PATIENCE_S)
        stopped = KeptAnswer.objects.filter(question=_QUESTION, reason="stopped")
        eventually(stopped.exists, "the work has ended")
        line.send("tools/call", id=3, params={"name": "search", "arguments": {"query": "tides"}})
        seen = line.read_until(lambda message: message.get("id") == 3)

    assert [message["id"] for message in seen if "id" in message] == [3]


@pytest.mark.parametrize("era", ERAS)
def test_concurrent_clients_get_their_own_answers(url, shelf, era):
    answers = {}

    async def one(number):
        async with Line(url=url, secret=shelf.secret, era=era).client() as client:
            given = {"query": f"the {_SUBJECTS[number]} on day {number}", "filters": {"source": "handbook"}}
            answers[number] = await client.call_tool("search", given)

    async def all_():
        with anyio.fail_after(PATIENCE_S * 3):
            async with anyio.create_task_group() as group:
                for number in range(_CLIENTS):
                    group.start_soon(one, number)

    anyio.run(all_)

    assert len(answers) == _CLIENTS
    for number, result in answers.items():
        assert not result.is_error
        assert _SUBJECTS[number] in text_of(result)
