import asyncio
from types import SimpleNamespace

import pytest

from kebab.application import create_application
from kebab.health import probes
from kebab.http.admission.fair_queue import Capacity, FairQueue
from kebab.http.admission.gate import Gate, Shares, ViewGate
from kebab.http.admission.request_bodies import BodyBudget, Spool
from kebab.identity.request_record import record_caller
from tests.integration.kebab.admission.callers import (
    LEAVES,
    LONG,
    ROOM,
    App,
    StubViews,
    callers_of,
    gate_of,
)

pytestmark = pytest.mark.anyio


async def test_one_callers_requests_leave_slots_for_another():
    app = App()
    async with callers_of(Gate(app, FairQueue(ROOM), Shares())) as callers:
        callers.ask(*["/w/a/search"] * 20)
        await callers.settle()
        assert app.n_inside == ROOM.slots_per_caller
        callers.ask("/w/b/search")
        await callers.settle()
        assert app.n_inside == ROOM.slots_per_caller + 1
        app.may_begin.set()
        await callers.end()
    assert callers.statuses.total() == 21


@pytest.mark.parametrize(("method", "path"), [("GET", "/version"), ("POST", "/healthz"), ("GET", "/login")])
async def test_requests_outside_workspaces_are_limited_per_caller(method, path):
    app = App()
    async with callers_of(Gate(app, FairQueue(ROOM), Shares())) as callers:
        callers.ask(*[path] * 50, method=method)
        await callers.settle()
        assert app.n_inside == ROOM.slots_per_caller
        app.may_begin.set()
        await callers.end()
    assert app.most["all"] <= ROOM.slots
    assert callers.statuses == {(path, 200): 50}


@pytest.mark.parametrize(("app", "make"), [(App(), Gate), (StubViews(), gate_of)], ids=["app", "views"])
async def test_short_body_is_received_before_a_slot_is_taken(app, make):
    app.may_begin, turns = asyncio.Event(), FairQueue(ROOM)
    async with callers_of(make(app, turns, Shares())) as callers:
        for parts in [(None,), (b"some of it", None)]:
            callers.ask(*["/w/a/x"] * 50, parts=parts, headers=[(b"content-length", b"20")])
        await callers.settle()
        assert (turns.n_lent, turns.n_waiting) == (0, 0)
        callers.ask("/w/a/x", parts=(b"all ", b"of it"))
        await callers.settle()
        assert (turns.n_lent, app.inside.total()) == (1, 1)


async def test_slot_is_held_only_while_the_view_runs():
    views, turns, sent = StubViews(), FairQueue(ROOM), asyncio.Event()
    gate = gate_of(views, turns)
    async with callers_of(gate) as callers:
        callers.ask(*["/w/a/x"] * 5, parts=(b"some of it", None), headers=LONG)
        await callers.settle()
        assert (turns.n_lent, views.bodies) == (0, [])
        callers.ask("/w/a/x", parts=(b"all ", b"of it"), headers=LONG)
        await callers.settle()
        assert (turns.n_lent, views.bodies) == (1, [b"all of it"])
        assert (views.environ["CONTENT_LENGTH"], views.environ["noted"]) == ("9", True)

        async def taking_nothing(scope, receive, send):
            await gate(scope, receive, lambda message: sent.wait())

        callers._gate = taking_nothing
        callers.ask("/w/a/y")
        await callers.settle()
        views.may_begin.set()
        await callers.settle()
        assert (turns.n_lent, views.inside.total()) == (0, 0)


async def test_client_disconnect_during_a_long_body_releases_slots_and_memory():
    views, turns, shares = StubViews(), FairQueue(ROOM), Shares()
    async with callers_of(gate_of(views, turns, shares)) as callers:
        callers.ask("/w/a/x", parts=(b"some", LEAVES), headers=LONG)
        await callers.end()
    assert (turns.n_lent, shares.spool.bytes.n, shares.spool.bodies.n) == (0, 0, 0)
    assert (views.bodies, callers.statuses) == ([], {})


async def test_slow_long_bodies_of_one_caller_do_not_block_others():
    views = StubViews()
    views.may_begin.set()
    shares = Shares(spool=Spool(bytes=BodyBudget(1_000), bodies=BodyBudget(10)))
    async with callers_of(gate_of(views, FairQueue(ROOM), shares)) as callers:
        callers.ask(*["/w/a/x"] * 24, parts=(b"1", None), headers=LONG)
        await callers.settle()
        assert callers.statuses == {("/w/a/x", 503): 16}
        callers.ask(*["/w/b/x"] * 3, parts=(b"22",), headers=LONG)
        await callers.end_of("/w/b/x", 3)
        assert callers.statuses["/w/b/x", 200] == 3
    assert (shares.spool.bytes.n, shares.spool.bodies.n) == (0, 0)


async def test_credential_identifies_its_caller_once_verified():
    async def verify(scope, receive, send):
        record_caller(SimpleNamespace(scope=scope), "workspace")
        await send({"type": "http.response.start", "status": 200, "headers": []})

    shares = Shares()
    scope = {"type": "http", "path": "/mcp", "headers": [(b"authorization", b"Bearer kbb_a")]}
    async with callers_of(Gate(verify, FairQueue(ROOM), shares)) as callers:
        assert shares.callers.name_of(scope) == "unknown"
        callers.ask("/mcp", headers=scope["headers"])
        await callers.end()
        assert shares.callers.name_of(scope) == "workspace"


WAITING_SEARCHES = [
    ("search", {"query": b"q=a&min_seq=7", "method": "GET"}),
    ("search", {"query": b"q=a&min_seq=%37", "method": "GET"}),
    ("search", {"query": b"min%5fseq=+7&q=a", "method": "GET"}),
    ("search", {"query": b"q=a&min_seq=7", "method": "GET", "headers": LONG}),
    ("search", {"parts": (b'{"q": "a", "min_', b'seq" : 7}')}),
    ("search", {"parts": (b'{"q": "a", "min_seq": "7"}',)}),
    ("search", {"parts": (rb'{"q": "a", "min\u005Fseq": "+7"}',)}),
    ("search/bulk", {"parts": (b'{"queries": [{"q": "a"}, {"q": "b","min_seq":7}]}',)}),
    ("search/bulk", {"headers": [(b"content-length", b"4000000")]}),
    ("context-pack", {"parts": (b'{"min_seq": 7}',)}),
]
OTHER_SEARCHES = [b'{"q": "min_seq", "min_seq": null}', b'{"min_seq"  :  null, "q": "\\"min_seq\\": 7"}']


def test_waiting_searches_leave_threads_to_other_searches(subtests):
    async def run(tail, request):
        app, waiting = StubViews(), FairQueue(Capacity(slots=4, waiting=200, wait_s=60.0))
        gate = gate_of(app, FairQueue(ROOM), waiting=waiting)
        async with callers_of(gate) as callers:
            paths = [f"/api/v1/workspaces/{name}/{tail}" for name in "abcd"]
            callers.ask(*paths * 10, **request)
            await callers.settle()
            assert (app.inside.total(), waiting.n_lent) == (4, 4)
            for body in OTHER_SEARCHES:
                callers.ask("/api/v1/workspaces/e/search", parts=(body,))
            await callers.settle()
            assert app.inside["/api/v1/workspaces/e/search"] == 2
            app.may_begin.set()
            await callers.end()
        assert {status for _, status in callers.statuses} == {200}
        assert waiting.n_lent == 0

    for tail, request in WAITING_SEARCHES:
        with subtests.test(tail=tail, request=request):
            asyncio.run(run(tail, request))


async def run_bulks():
    app, bulks = StubViews(), FairQueue(Capacity(slots=2, waiting=20, wait_s=60.0))
    async with callers_of(gate_of(app, FairQueue(ROOM), bulks=bulks)) as callers:
        callers.ask(*["/api/v1/workspaces/a/search/bulk"] * 3, "/api/v1/workspaces/b/search/bulk")
        callers.ask(*["/api/v1/workspaces/a/search"] * 3)
        await callers.settle()
        inside = dict(app.inside)
        app.may_begin.set()
        await callers.end()
    assert bulks.n_lent == 0
    return inside


def test_one_bulk_of_a_caller_runs_at_a_time():
    assert asyncio.run(run_bulks()) == {
        "/api/v1/workspaces/a/search/bulk": 1,
        "/api/v1/workspaces/b/search/bulk": 1,
        "/api/v1/workspaces/a/search": 3,
    }


def test_all_gates_share_the_bulk_and_waiting_search_queues():
    application = create_application()
    gates = (application.view_gate, application.waiting_gate, application.test_gate)
    assert len({(gate._bulks, gate._searches_that_wait) for gate in gates}) == 1
    assert application.view_gate._bulks._capacity.slots_per_caller == 1


def test_half_of_the_threads_of_the_views_may_wait_for_changes():
    gate = create_application().select(
        {"type": "http", "method": "GET", "path": "/api/v1/x", "headers": [], "query_string": b"min_seq=1"}
    )
    assert gate._searches_that_wait._capacity.slots == gate._turns._capacity.slots // 2


@pytest.mark.parametrize(
    ("query", "is_waiting"),
    [
        (b"wait_for=searchable", True),
        (b"a=b&wait%5Ffor=searchable", True),
        (b"%77ait_for=%73earchable", True),
        (b"", False),
        (b"a=wait_for=", False),
    ],
)
def test_uploads_that_wait_have_threads_of_their_own(query, is_waiting):
    scope = {"type": "http", "method": "POST", "path": "/api/v1/workspaces/a/documents", "headers": []}
    application = create_application()
    selected = application.select({**scope, "query_string": query})
    assert (selected is application.waiting_gate) is is_waiting


def test_page_with_wait_for_uses_the_view_threads():
    scope = {"type": "http", "method": "GET", "path": "/w/a/search", "headers": []}
    application = create_application()
    assert application.select({**scope, "query_string": b"wait_for=1"}) is application.view_gate


@pytest.mark.parametrize(
    ("method", "path", "gate"),
    [
        ("POST", "/api/v1/workspaces/a/sources/b/test", "test_gate"),
        ("POST", "/w/a/sources/b/test", "test_gate"),
        ("POST", "/w/a/sources/new", "test_gate"),
        ("GET", "/w/a/sources/new", "view_gate"),
        ("POST", "/w/a/sources/b/sync", "view_gate"),
        ("GET", "/login/oidc", "waiting_gate"),
        ("GET", "/login/oidc/callback", "waiting_gate"),
        ("GET", "/login", "view_gate"),
    ],
)
def test_views_that_wait_for_foreign_servers_have_threads_of_their_own(method, path, gate):
    application = create_application()
    selected = application.select(
        {"type": "http", "method": method, "path": path, "headers": [], "query_string": b""}
    )
    assert selected is getattr(application, gate)


def test_connection_tests_are_limited_to_two_per_caller_and_three_in_total():
    """Each test may start a process of half a gigabyte."""
    capacity = create_application().test_queue._capacity
    assert (capacity.slots_per_caller, capacity.slots) == (2, 3)


async def test_streaming_response_releases_its_slot_when_it_starts():
    app, turns = App(lasts=True), FairQueue(ROOM)
    async with callers_of(Gate(app, turns, Shares(), release_on_start=True)) as callers:
        callers.ask(*["/w/a/ask"] * 100)
        await callers.settle()
        callers.ask("/w/b/ask")
        await callers.settle()
        assert app.inside == {"/w/a/ask": ROOM.slots_per_caller, "/w/b/ask": 1}
        app.may_begin.set()
        assert await callers.wait_for_answers(101) == {("/w/a/ask", 200): 100, ("/w/b/ask", 200): 1}
        assert (turns.n_lent, app.most["all"]) == (0, ROOM.slots_per_caller + 1)


async def test_streaming_response_holds_a_second_slot_and_receives_its_whole_body():
    messages = []

    async def app(scope, receive, send):
        messages.append(await receive())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.get_running_loop().create_future()

    shares, beginning = Shares(), FairQueue(ROOM)
    held, lasting = shares.short_bodies, FairQueue(Capacity(slots=4, waiting=0, wait_s=0.0))
    gate = Gate(Gate(app, beginning, shares, release_on_start=True), lasting, shares)
    async with callers_of(gate) as callers:
        callers.ask(*["/w/a/ask"] * 4, parts=(b"all ", b"of it"))
        statuses = await callers.wait_for_answers(4)
        assert statuses == {("/w/a/ask", 200): 3, ("/w/a/ask", 503): 1}
        assert (lasting.n_lent, beginning.n_lent, held.n) == (3, 0, 0)
    assert (lasting.n_lent, held.n) == (0, 0)
    assert messages == [{"type": "http.request", "body": b"all of it", "more_body": False}] * 3


async def test_failure_before_the_response_releases_the_slot():
    async def failing(scope, receive, send):
        raise RuntimeError

    turns = FairQueue(ROOM)
    async with callers_of(Gate(failing, turns, Shares(), release_on_start=True)) as callers:
        callers.ask("/w/a/ask")
        with pytest.raises(RuntimeError):
            await callers.end()
    assert turns.n_lent == 0


def test_probes_bypass_admission():
    application = create_application()
    for path in sorted(probes.PATHS):
        scope = {"type": "http", "path": path, "headers": [], "query_string": b""}
        assert application.select({**scope, "method": "GET"}) is probes.application
        assert isinstance(application.select({**scope, "method": "POST"}), ViewGate)
