import asyncio
import errno
from dataclasses import replace

import pytest

from kebab.http.admission import request_bodies
from kebab.http.admission.fair_queue import FairQueue
from kebab.http.admission.gate import Gate, Shares
from kebab.http.admission.request_bodies import (
    SHORT_BYTES,
    BodyBudget,
    BufferedBody,
    Spool,
    SpooledBody,
    is_short,
)
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


def test_content_length_in_any_spelling_decides_if_a_body_is_short(subtests):
    for headers, expected in LENGTHS:
        with subtests.test(headers=headers):
            assert is_short({"type": "http", "headers": list(headers.items())}) is expected


def body_of(caller, budget, parts):
    """Return a body whose parts come one after another, and a last one never."""
    coming = list(parts)

    async def receive():
        if not coming:
            await asyncio.get_running_loop().create_future()
        return {"type": "http.request", "body": coming.pop(0), "more_body": bool(coming)}

    return BufferedBody({"headers": []}, receive, budget, caller)


async def test_consumed_body_frees_its_memory_budget():
    budget = BodyBudget(100)
    body = body_of("a", budget, [b"123", b"456"])
    await body.read()
    assert budget.n == 6
    assert (await body.replay())["body"] == b"123456"
    assert budget.n == 0
    body.close()
    assert budget.n == 0


async def test_memory_is_freed_from_the_caller_with_the_largest_unfinished_bodies():
    app, shares = App(), Shares(short_bodies=BodyBudget(100))
    async with callers_of(Gate(app, FairQueue(ROOM), shares)) as callers:
        callers.ask("/w/a/x", parts=(b"1" * 30, None))
        callers.ask("/w/a/y", parts=(b"1" * 50, None))
        await callers.settle()
        callers.ask("/w/b/x", parts=(b"2" * 25, None))
        callers.ask("/w/a/z", parts=(b"1" * 60,))
        await callers.settle()
        assert callers.statuses == {("/w/a/y", 429): 1, ("/w/a/z", 429): 1}
        assert shares.short_bodies.n == 55
    assert shares.short_bodies.n == 0


async def test_waiting_body_is_dropped_to_free_memory_for_others():
    views, turns, shares = StubViews(), FairQueue(ROOM), Shares(short_bodies=BodyBudget(100))
    async with callers_of(gate_of(views, turns, shares)) as callers:
        callers.ask(*["/w/a/x"] * 6, parts=(b"1",))
        await callers.settle()
        callers.ask("/w/a/y", parts=(b"1" * 70,))
        await callers.settle()
        assert (turns.n_waiting, shares.short_bodies.n) == (1, 70)
        callers.ask("/w/b/x", parts=(b"2" * 40,))
        await callers.settle()
        assert callers.statuses == {("/w/a/y", 429): 1}
        assert turns.n_waiting == 0


async def test_body_over_the_budget_of_a_lone_caller_is_answered_503():
    app, shares = App(), Shares(short_bodies=BodyBudget(10))
    async with callers_of(Gate(app, FairQueue(ROOM), shares)) as callers:
        callers.ask("/w/a/x", parts=(b"123456789",))
        await callers.settle()
        assert callers.statuses == {("/w/a/x", 503): 1}


#: Refused for want of a slot, of room in the memory and of room in the spool.
REFUSALS = [
    (Gate, 0, {"parts": (b"1",)}),
    (gate_of, 0, {"parts": (b"1",)}),
    (Gate, 1, {"parts": (b"1" * 30, b"1" * 80)}),
    (gate_of, 1, {"parts": (b"1" * 30, b"1" * 80)}),
    (gate_of, 1, {"parts": (b"1" * 30, b"1" * 80), "headers": LONG}),
]


def test_delayed_refusal_holds_no_memory(subtests):
    async def run(make, slots, request, refusal_s):
        turns = FairQueue(replace(ROOM, slots=slots, waiting=0, refusal_s=refusal_s))
        spool = Spool(bytes=BodyBudget(100))
        shares = Shares(short_bodies=BodyBudget(100), spool=spool)
        async with callers_of(make(StubViews(), turns, shares)) as callers:
            callers.ask("/w/a/x", **request)
            await callers.settle()
            assert (shares.short_bodies.n, spool.bytes.n, spool.bodies.n) == (0, 0, 0)
            return dict(callers.statuses)

    for make, slots, request in REFUSALS:
        with subtests.test(make=make.__name__, request=request):
            assert asyncio.run(run(make, slots, request, refusal_s=60.0)) == {}
            assert asyncio.run(run(make, slots, request, refusal_s=0.0)) == {("/w/a/x", 503): 1}


@pytest.fixture
def no_patience(monkeypatch):
    for limit in ("_SHORT_GRACE_S", "_LONG_GRACE_S"):
        monkeypatch.setattr(request_bodies, limit, 0.0)


async def test_silence_in_a_body_is_answered_with_408(no_patience):
    turns = FairQueue(ROOM)
    async with callers_of(gate_of(StubViews(), turns)) as callers:
        callers.ask("/w/a/x", parts=(b"12", b"34", None), headers=LONG)
        callers.ask("/w/b/x", parts=(b"12", None), headers=[(b"content-length", b"5")])
        assert await callers.wait_for_answers(2) == {("/w/a/x", 408): 1, ("/w/b/x", 408): 1}
        await callers.end()
    assert turns.n_lent == 0


#: The time since the beginning, the bytes until then, and until when the next part must come.
DEADLINES = [(0, 0, 30), (10, 1_000, 30.125), (31, 16_000, 32), (100, 10_000_000, 130), (100, 560_000, 100)]


async def test_long_body_must_come_at_8_kb_a_second_after_half_a_minute(monkeypatch, subtests):
    body = SpooledBody(None, Shares().spool, "a")
    for now, size_bytes, deadline in DEADLINES:
        with subtests.test(now=now, size_bytes=size_bytes):
            monkeypatch.setattr(request_bodies, "_now", lambda now=now: now)
            body.size_bytes = size_bytes
            assert body._deadline(0) == deadline
    body.close()


async def test_full_disk_is_answered_with_503(monkeypatch):
    def fail():
        raise OSError(errno.ENOSPC, "No space")

    monkeypatch.setattr(request_bodies.tempfile, "TemporaryFile", fail)
    shares = Shares()
    async with callers_of(gate_of(StubViews(), FairQueue(ROOM), shares)) as callers:
        callers.ask("/w/a/x", parts=(b"1",), headers=LONG)
        assert await callers.wait_for_answers(1) == {("/w/a/x", 503): 1}
    assert shares.spool.bodies.n == 0


async def test_body_without_an_end_is_refused_at_the_limit_of_uploads(settings):
    settings.KEBAB_UPLOAD_LIMIT_BYTES = settings.KEBAB_ARCHIVE_LIMIT_BYTES = 0
    async with callers_of(gate_of(StubViews(), FairQueue(ROOM))) as callers:
        callers.ask("/w/a/x", parts=(b"1" * 600_000, b"2" * 600_000, None), headers=LONG)
        assert await callers.wait_for_answers(1) == {("/w/a/x", 413): 1}


async def test_long_body_is_answered_413_where_only_short_ones_are_accepted():
    app, shares = App(), Shares()
    async with callers_of(Gate(app, FairQueue(ROOM), shares)) as callers:
        callers.ask("/mcp", parts=(b"1" * 600_000, b"2" * 600_000, None), headers=LONG)
        assert await callers.wait_for_answers(1) == {("/mcp", 413): 1}
    assert (app.inside, shares.short_bodies.n) == ({}, 0)
