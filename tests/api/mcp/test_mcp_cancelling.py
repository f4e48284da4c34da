"""Calls that are given up, progress, and many clients at once."""

import json
import threading
from contextlib import ExitStack

import anyio
import pytest

from kebab.people.access import Caller, token_access
from kebab.people.tokens import verify_token
from search.answers.configured import configured_model
from search.mcp import tools
from search.mcp.calls import Call, CallStopped
from search.mcp.handshake import given_up_by
from search.mcp.threads import answer_in_thread
from search.models import KeptAnswer
from tests.api.mcp.speaking import Line, environment, raw_line, said
from tests.integration.search.answers.stub import serving_model
from tests.integration.search.answers.using import use_url
from tests.support.stack import eventually

PATIENCE_S = 20
_CLIENTS = 20
_QUESTION = "Which command of the package manager installs kebab on Linux?"
_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}


@pytest.fixture
def hanging(settings):
    """A model that begins to answer, and then says nothing for as long as somebody listens."""

    def behave(exchange):
        exchange.begin_stream()
        exchange.send_piece("The ")
        while not exchange.server.released.wait(0.02):
            exchange.send_remark("still there")

    with ExitStack() as stack:
        stub = stack.enter_context(serving_model(behave))
        use_url(settings, stub.url)
        yield stub
    configured_model.cache_clear()


@pytest.mark.parametrize("way", ["http-auto", "http-legacy", "stdio-auto", "stdio-legacy"])
def test_a_call_that_is_given_up_ends_the_models_work(url, shelf, folder, hanging, way):
    at, era = way.split("-")
    model = {"KEBAB_ANSWER_URL": hanging.url, "KEBAB_ANSWER_MODEL": "parrot"}
    own = environment(folder, KEBAB_TOKEN=shelf.secret, **model)
    line = Line(url=url if at == "http" else "", secret=shelf.secret, era=era, environment=own)
    question = {"question": "Which package manager command installs kebab?"}

    async def give_up(client):
        begun = anyio.Event()

        async def told(progress, total, message):
            if message == "writing":
                begun.set()

        async with anyio.create_task_group() as group:

            async def ask():
                await client.call_tool("ask", question, progress_callback=told)

            group.start_soon(ask)
            await begun.wait()
            group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            left = await anyio.to_thread.run_sync(hanging.was_left.wait, PATIENCE_S)
        return left, await client.call_tool("search", {"query": "tides"})

    left, after = line.use(give_up)

    assert left
    assert not after.is_error


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_after_a_call_was_given_up_the_session_goes_on(url, shelf, hanging, era):
    async def give_up(client):
        with anyio.move_on_after(1):
            await client.call_tool("ask", {"question": "Which package manager command installs kebab?"})
        return await client.call_tool("search", {"query": "package manager"})

    assert "apt install" in said(Line(url=url, secret=shelf.secret, era=era).use(give_up))


def test_progress_is_told_on_the_way(line):
    heard = []

    async def hear(progress, total, message):
        heard.append((progress, total))

    async def ask(client):
        given = {"information_request": "How are strings scanned?", "source": "stdlib"}
        return await client.call_tool("codebase-retrieval", given, progress_callback=hear)

    assert not line.use(ask).is_error
    assert heard == [(0, 2), (1, 2)]


def test_a_call_that_nobody_waits_for_stops_at_its_next_step(shelf):
    began, stopped = threading.Event(), threading.Event()
    waiting = threading.Event()

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
            group.start_soon(answer_in_thread, lambda: None, work, report)
            await anyio.to_thread.run_sync(began.wait)
            group.cancel_scope.cancel()
        waiting.set()
        return await anyio.to_thread.run_sync(stopped.wait, PATIENCE_S)

    assert anyio.run(give_up)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("search", {"query": "tides"}),
        ("codebase-retrieval", {"information_request": "How are strings scanned?"}),
        ("ask", {"question": _QUESTION}),
    ],
)
def test_a_call_that_was_stopped_before_it_ran_is_no_answer_and_asks_no_model(shelf, hanging, name, given):
    token = verify_token(shelf.secret)
    call = Call(access=token_access(Caller(token=token), token), stop=threading.Event())
    call.stop.set()

    with pytest.raises(CallStopped):
        tools.answer_call(tools.TOOLS[name], given, call)
    assert hanging.requests == []


@pytest.mark.parametrize(
    ("length", "call"), [("80", 7), ("0" * 5_000 + "80", 7), ("10001", None), ("9" * 5_000, None), ("", None)]
)
def test_only_a_short_message_is_looked_at_for_what_it_gives_up(length, call):
    message = {"method": "notifications/cancelled", "params": {"requestId": 7}}

    async def receive():
        return {"type": "http.request", "body": json.dumps(message).encode(), "more_body": False}

    async def look():
        found, again = await given_up_by({"Content-Length": length}, receive)
        assert json.loads((await again())["body"]) == message
        return found

    assert anyio.run(look) == call


def test_what_comes_of_a_stopped_call_is_cancelled(shelf):
    def work(call):
        raise CallStopped

    async def call():
        with pytest.raises(anyio.get_cancelled_exc_class()):
            await answer_in_thread(lambda: None, work, report=None)

    anyio.run(call)


def test_a_call_that_is_given_up_is_never_answered(shelf, folder, hanging):
    asked = {"name": "ask", "arguments": {"question": _QUESTION}, "_meta": {"progressToken": "p"}}
    model = {"KEBAB_ANSWER_URL": hanging.url, "KEBAB_ANSWER_MODEL": "parrot"}
    with raw_line(environment(folder, KEBAB_TOKEN=shelf.secret, **model)) as line:
        line.send("initialize", id=1, params=_HELLO)
        line.read_until(lambda message: message.get("id") == 1)
        line.send("notifications/initialized")
        line.send("tools/call", id=2, params=asked)
        line.read_until(lambda message: message.get("params", {}).get("message") == "writing")
        line.send("notifications/cancelled", params={"requestId": 2})
        assert hanging.was_left.wait(PATIENCE_S)
        eventually(KeptAnswer.objects.filter(question=_QUESTION).exists, "the work has ended")
        line.send("tools/call", id=3, params={"name": "search", "arguments": {"query": "tides"}})
        seen = line.read_until(lambda message: message.get("id") == 3)

    assert [message["id"] for message in seen if "id" in message] == [3]
    assert KeptAnswer.objects.get(question=_QUESTION).reason == "stopped"


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_twenty_clients_at_once_get_each_what_they_asked_for(url, shelf, era):
    subjects = ["harbour", "lantern", "orchard", "glacier", "compass", "anchor", "beacon", "tiller"]
    answers = {}

    async def one(number):
        subject = subjects[number % len(subjects)]
        line = Line(url=url, secret=shelf.secret, era=era)
        async with line.client() as client:
            for turn in range(3):
                given = {"query": f"the {subject} on day {number + turn}", "filters": {"source": "handbook"}}
                answers[number, turn] = subject, await client.call_tool("search", given)

    async def all_():
        with anyio.fail_after(PATIENCE_S * 3):
            async with anyio.create_task_group() as group:
                for number in range(_CLIENTS):
                    group.start_soon(one, number)

    anyio.run(all_)

    assert len(answers) == _CLIENTS * 3
    for subject, result in answers.values():
        assert not result.is_error
        assert subject in said(result)
