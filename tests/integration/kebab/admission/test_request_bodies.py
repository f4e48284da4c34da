import pytest

from kebab.http.admission import request_bodies
from kebab.http.admission.fair_queue import FairQueue, Overloaded
from kebab.http.admission.gate import Gate
from kebab.http.admission.request_bodies import SHORT_BYTES, BufferBudget, BufferedBody, is_short
from tests.integration.kebab.admission.callers import LONG, ROOM, App, StubViews, callers_of, gate_of

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
    held = BufferBudget(10)

    async def receive():
        return {"type": "http.request", "body": b"123456"}

    first, second = BufferedBody(receive, held), BufferedBody(receive, held)
    await first.read()
    with pytest.raises(Overloaded) as refused:
        await second.read()
    second.close()
    assert (held.n, refused.value.is_workspace_busy) == (6, False)
    assert (await first.replay())["body"] == b"123456"
    assert held.n == 0
    await second.read()
    second.close()
    first.close()
    assert held.n == 0


async def test_more_bodies_than_a_process_holds_are_refused_and_requests_without_one_are_not():
    app, held = App(), BufferBudget(10)
    async with callers_of(Gate(app, FairQueue(ROOM), held=held)) as callers:
        callers.ask("/w/a/x", parts=(b"12345678", None))
        await callers.settle()
        callers.ask("/w/b/x", parts=(b"123",))
        callers.ask("/w/c/x")
        await callers.settle()
        assert callers.statuses == {("/w/b/x", 503): 1}
        assert app.inside == {"/w/c/x": 1}
    assert held.n == 0


@pytest.fixture
def no_patience(monkeypatch):
    monkeypatch.setattr(request_bodies, "_PART_TIMEOUT_S", 0.0)


async def test_silence_in_a_long_body_is_answered_with_408(no_patience):
    turns = FairQueue(ROOM)
    async with callers_of(gate_of(StubViews(), turns)) as callers:
        callers.ask("/w/a/x", parts=(b"12", b"34", None), headers=LONG)
        assert await callers.wait_for_answers(1) == {("/w/a/x", 408): 1}
        await callers.end()
    assert turns.n_lent == 0


async def test_body_without_an_end_is_refused_at_the_limit_of_uploads(settings):
    settings.KEBAB_UPLOAD_LIMIT_BYTES = settings.KEBAB_ARCHIVE_LIMIT_BYTES = 0
    async with callers_of(gate_of(StubViews(), FairQueue(ROOM))) as callers:
        callers.ask("/w/a/x", parts=(b"1" * 600_000, b"2" * 600_000, None), headers=LONG)
        assert await callers.wait_for_answers(1) == {("/w/a/x", 413): 1}


async def test_long_body_is_refused_where_none_is_taken():
    app, held = App(), BufferBudget()
    async with callers_of(Gate(app, FairQueue(ROOM), held=held)) as callers:
        callers.ask("/mcp", parts=(b"1" * 600_000, b"2" * 600_000, None), headers=LONG)
        assert await callers.wait_for_answers(1) == {("/mcp", 413): 1}
    assert (app.inside, held.n) == ({}, 0)
