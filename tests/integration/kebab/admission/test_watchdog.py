"""A web process watches its slots and its clients' connections."""

import asyncio
import contextlib
import json
import socket
from ipaddress import ip_network

import pytest

from kebab.application import create_application
from kebab.health import responses
from kebab.http.admission import fair_queue, send_timeout, watchdog
from kebab.http.admission.fair_queue import Capacity, FairQueue
from kebab.http.admission.watchdog import ConnectionGuard, Watchdog

pytestmark = pytest.mark.anyio


@pytest.fixture
def now(monkeypatch):
    """Return the clock of the fair queue, set by hand."""
    time_s = [1000.0]
    monkeypatch.setattr(fair_queue.time, "monotonic", lambda: time_s[0])
    return time_s


async def test_process_with_stalled_slots_becomes_unready_and_then_ends(now):
    lent, ended = FairQueue(Capacity(slots=4, waiting=0, wait_s=0.0)), []
    watching = Watchdog({"views": lent}, ConnectionGuard(()), end=lambda: ended.append(True))

    async def state(seconds):
        now[0] += seconds
        watching.check()
        return watching.is_stalled, bool(ended)

    for _ in range(2):
        await lent.acquire("a")
    assert await state(1_000) == (False, False)
    await lent.acquire("a")  # all that one workspace may have
    assert await state(50) == (False, False)
    lent.release("a")
    await lent.acquire("a")
    assert await state(50) == (False, False)
    assert await state(20) == (True, False)
    await lent.acquire("b")  # now all of them
    lent.release("b")
    assert await state(20) == (True, False)
    assert await state(40) == (True, True)


@contextlib.contextmanager
def clients(n):
    """Return a listening socket and both ends of each connection to it."""
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=n))
        pairs = []
        for _ in range(n):
            ours = stack.enter_context(socket.create_connection(listening.getsockname()))
            pairs.append((ours, stack.enter_context(listening.accept()[0])))
            ours.settimeout(5)
        yield [ours for ours, _ in pairs]


def is_closed(client):
    client.setblocking(False)
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False


def test_excess_idle_connections_of_an_address_are_closed(monkeypatch, settings):
    monkeypatch.setattr(watchdog, "CONNECTIONS_OF_ADDRESS", 3)
    with clients(8) as ours:
        under_way = {client.getsockname() for client in ours[5:]}
        assert ConnectionGuard(under_way).close_excess() == 5
        assert [is_closed(client) for client in ours] == [True] * 5 + [False] * 3
        settings.KEBAB_TRUSTED_PROXIES = [ip_network("127.0.0.0/8")]
    with clients(8):
        assert ConnectionGuard(()).close_excess() == 0


def test_a_connection_that_was_given_up_is_closed_once():
    guard = ConnectionGuard(())
    with clients(2) as ours:
        guard.abandon(ours[0].getsockname())
        assert (guard.close_excess(), guard.close_excess()) == (1, 0)
        assert [is_closed(client) for client in ours] == [True, False]


async def test_stalled_queue_of_a_web_process_makes_it_unready(monkeypatch):
    monkeypatch.setattr(responses, "probe_stores", dict)
    application = create_application()
    assert responses.readiness_reply().status == 200
    monkeypatch.setattr(application.view_queue, "_exhausted_since", {None: float("-inf")})
    assert (responses.readiness_reply().status, json.loads(responses.readiness_reply().body)["checks"]) == (
        503,
        {"turns": "failed"},
    )


async def test_client_that_stops_reading_is_disconnected(monkeypatch):
    monkeypatch.setattr(send_timeout, "SEND_TIMEOUT_S", 0.0)
    given_up, sent = [], []

    async def take(message):
        sent.append(message)
        if message["body"] == b"second":
            await asyncio.get_running_loop().create_future()

    send = send_timeout.limit_sending(take, lambda: given_up.append(True))
    await send({"type": "http.response.body", "body": b"whole"})
    assert given_up == []
    with pytest.raises(send_timeout.SendTimeout):
        await send({"type": "http.response.body", "body": b"second", "more_body": True})
    assert given_up == [True]
