"""Which bodies are short, and how much of them is held at once."""

import asyncio

import pytest
from a2wsgi import WSGIMiddleware

from kebab.admission import bodies
from kebab.admission.bodies import SHORT_BYTES, HeldBody, HeldBytes, is_short
from kebab.admission.gate import Gate
from kebab.admission.turns import Refused, Turns
from tests.integration.kebab.admission.calling import LONG, ROOM, App, asking


@pytest.mark.parametrize(
    ("headers", "is_it"),
    [
        ({}, True),
        ({b"content-length": b"0"}, True),
        ({b"content-length": b"%d" % SHORT_BYTES}, True),
        ({b"content-length": b"%d" % (SHORT_BYTES + 1)}, False),
        ({b"content-length": b"0" * 12 + b"9999999"}, False),
        ({b"content-length": b"0" * 12 + b"99"}, True),
        ({b"content-length": b"0" * 5_000}, True),
        ({b"content-length": b"9" * 5_000}, False),
        ({b"content-length": b"-1"}, False),
        ({b"content-length": b"\xb2"}, False),
        ({b"content-length": b""}, False),
        ({b"transfer-encoding": b"chunked"}, False),
    ],
)
def test_a_body_is_as_short_as_its_length_says_however_that_is_written(headers, is_it):
    assert is_short({"type": "http", "headers": list(headers.items())}) is is_it


def test_what_is_held_is_bounded_and_free_again_once_it_is_given():
    async def run():
        held = HeldBytes(10)

        async def receive():
            return {"type": "http.request", "body": b"123456"}

        first, second = HeldBody(receive, held), HeldBody(receive, held)
        await first.read()
        with pytest.raises(Refused) as refused:
            await second.read()
        second.let_go()
        assert (held.n, refused.value.is_own_doing) == (6, False)
        assert (await first.again())["body"] == b"123456"
        assert held.n == 0
        await second.read()
        second.let_go()
        first.let_go()
        assert held.n == 0

    asyncio.run(run())


def test_more_bodies_than_a_process_holds_are_refused_and_those_without_one_are_not():
    async def run():
        app, held = App(), HeldBytes(10)
        gate = Gate(app, Turns(ROOM), Turns(ROOM), held=held)
        async with asking(gate) as callers:
            callers.ask("/w/a/x", parts=(b"12345678", None))
            await callers.settle()
            callers.ask("/w/b/x", parts=(b"123",))
            callers.ask("/w/c/x")
            await callers.settle()
            assert callers.statuses == {("/w/b/x", 503): 1}
            assert app.inside == {"/w/c/x": 1}
        assert held.n == 0

    asyncio.run(run())


def reading(environ, start_response):
    """A view that reads its body, and says so when it can't."""
    try:
        environ["wsgi.input"].read()
    except OSError:
        start_response("400 Bad Request", [])
    else:
        start_response("200 OK", [])
    return [b""]


async def defective(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    raise RuntimeError


@pytest.fixture
def no_patience(monkeypatch):
    monkeypatch.setattr(bodies, "_SILENCE_S", 0.0)


@pytest.mark.parametrize("make", [lambda: WSGIMiddleware(reading, workers=1), lambda: defective])
def test_who_falls_silent_in_a_long_body_is_waited_for_no_longer(no_patience, make):
    async def run():
        turns, long_bodies = Turns(ROOM), Turns(ROOM)
        async with asking(Gate(make(), turns, long_bodies)) as callers:
            callers.ask("/w/a/x", parts=(b"12", b"34", None), headers=LONG)
            assert await callers.answered(1) == {("/w/a/x", 408): 1}
            await callers.end()
        assert (turns.n_lent, long_bodies.n_lent) == (0, 0)

    asyncio.run(run())


def test_once_the_answer_has_begun_a_body_may_come_as_slowly_as_it_likes(no_patience):
    async def answering(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await receive()

    async def run():
        turns = Turns(ROOM)
        async with asking(Gate(answering, turns)) as callers:
            callers.ask("/w/a/x", parts=(None,), headers=LONG)
            await callers.answered(1)
            await callers.settle()
            assert turns.n_lent == 1
        assert callers.statuses == {("/w/a/x", 200): 1}

    asyncio.run(run())


def test_whoever_has_sent_all_is_waited_for_as_long_as_the_answer_takes(no_patience):
    async def run():
        app = App()
        async with asking(Gate(app, Turns(ROOM))) as callers:
            callers.ask("/w/a/x", parts=(b"12", b"34"), headers=LONG)
            await callers.settle()
            app.may_begin.set()
            assert await callers.answered(1) == {("/w/a/x", 200): 1}

    asyncio.run(run())
