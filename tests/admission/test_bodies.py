"""Which bodies are short, and how much of them is held at once."""

import asyncio

import pytest

from kebab.admission.bodies import SHORT_BYTES, HeldBody, HeldBytes, is_short
from kebab.admission.gate import Gate
from kebab.admission.turns import Refused, Turns
from tests.admission.calling import ROOM, App, asking


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
