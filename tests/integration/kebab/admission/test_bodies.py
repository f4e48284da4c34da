import pytest
from a2wsgi import WSGIMiddleware

from kebab.admission import bodies
from kebab.admission.bodies import SHORT_BYTES, HeldBody, HeldBytes, is_short
from kebab.admission.gate import Gate
from kebab.admission.turns import Refused, Turns
from tests.integration.kebab.admission.callers import LONG, ROOM, App, callers_of

pytestmark = pytest.mark.anyio
LENGTHS = [
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
]


def test_body_is_short_by_its_content_length_however_that_is_written(subtests):
    for headers, expected in LENGTHS:
        with subtests.test(headers=headers):
            assert is_short({"type": "http", "headers": list(headers.items())}) is expected


async def test_held_bytes_are_bounded_and_free_once_the_body_is_read_again():
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


async def test_more_bodies_than_a_process_holds_are_refused_and_requests_without_one_are_not():
    app, held = App(), HeldBytes(10)
    async with callers_of(Gate(app, Turns(ROOM), Turns(ROOM), held=held)) as callers:
        callers.ask("/w/a/x", parts=(b"12345678", None))
        await callers.settle()
        callers.ask("/w/b/x", parts=(b"123",))
        callers.ask("/w/c/x")
        await callers.settle()
        assert callers.statuses == {("/w/b/x", 503): 1}
        assert app.inside == {"/w/c/x": 1}
    assert held.n == 0


def reading(environ, start_response):
    """Read the body, and answer 400 if it doesn't come."""
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
async def test_silence_in_a_long_body_is_answered_with_408(no_patience, make):
    turns, long_bodies = Turns(ROOM), Turns(ROOM)
    async with callers_of(Gate(make(), turns, long_bodies)) as callers:
        callers.ask("/w/a/x", parts=(b"12", b"34", None), headers=LONG)
        assert await callers.answered(1) == {("/w/a/x", 408): 1}
        await callers.end()
    assert (turns.n_lent, long_bodies.n_lent) == (0, 0)


async def test_silence_is_no_matter_once_the_answer_has_begun_or_the_body_has_ended(no_patience):
    async def answering(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await receive()

    turns, app = Turns(ROOM), App()
    async with callers_of(Gate(answering, turns)) as callers:
        callers.ask("/w/a/x", parts=(None,), headers=LONG)
        await callers.answered(1)
        await callers.settle()
        assert turns.n_lent == 1
    assert callers.statuses == {("/w/a/x", 200): 1}
    async with callers_of(Gate(app, Turns(ROOM))) as callers:
        callers.ask("/w/a/x", parts=(b"12", b"34"), headers=LONG)
        await callers.settle()
        app.may_begin.set()
        assert await callers.answered(1) == {("/w/a/x", 200): 1}
