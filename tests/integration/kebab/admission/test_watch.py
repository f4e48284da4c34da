"""A web process looks after its turns and its clients' connections."""

import contextlib
import socket
from ipaddress import ip_network

import pytest

from kebab.admission import connections, turns
from kebab.admission.connections import ConnectionGuard, close_connections
from kebab.admission.turns import Room, Turns
from kebab.admission.watch import Watch

pytestmark = pytest.mark.anyio


@pytest.fixture
def now(monkeypatch):
    """The time that turns go by."""
    time_s = [1000.0]
    monkeypatch.setattr(turns.time, "monotonic", lambda: time_s[0])
    return time_s


async def test_process_whose_turns_do_not_come_back_is_not_ready_and_then_ends(now):
    lent, ended = Turns(Room(slots=4, waiting=0, wait_s=0.0)), []
    watching = Watch({"views": lent}, ConnectionGuard(set), end=lambda: ended.append(True))

    async def state(seconds):
        now[0] += seconds
        watching.look()
        return watching.is_stalled, bool(ended)

    for _ in range(2):
        await lent.take("a")
    assert await state(1_000) == (False, False)
    await lent.take("a")  # all that one workspace may have
    assert await state(50) == (False, False)
    lent.give_back("a")
    await lent.take("a")
    assert await state(50) == (False, False)
    assert await state(20) == (True, False)
    await lent.take("b")  # now all of them
    lent.give_back("b")
    assert await state(20) == (True, False)
    assert await state(40) == (True, True)


@contextlib.contextmanager
def clients(n):
    """Give connected sockets: a listening one, and the ends of each connection to it."""
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


def test_an_address_keeps_as_many_connections_as_it_may_have_and_those_with_requests(monkeypatch, settings):
    monkeypatch.setattr(connections, "CONNECTIONS_OF_ADDRESS", 3)
    with clients(8) as ours:
        under_way = {client.getsockname() for client in ours[5:]}
        assert ConnectionGuard(lambda: under_way).look() == 5
        assert [is_closed(client) for client in ours] == [True] * 5 + [False] * 3
        settings.KEBAB_TRUSTED_PROXIES = [ip_network("127.0.0.0/8")]
    with clients(8):
        assert ConnectionGuard(set).look() == 0


def test_a_connection_is_closed_by_its_other_end():
    with clients(2) as ours:
        assert close_connections({ours[0].getsockname()}) == 1
        assert [is_closed(client) for client in ours] == [True, False]
