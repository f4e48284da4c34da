"""Clients that misbehave on real sockets, with and without a token: others are answered, nothing is left."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import httpx
import pytest

from tests.acceptance.deploy.servers_by_tcp import find_program
from tests.acceptance.deploy.site import Proxy
from tests.drills.front_door.attack_run import play, start_threads
from tests.drills.front_door.attacks import ATTACKS, together
from tests.drills.front_door.bystander import Bystander, WebProcesses, is_open
from tests.drills.front_door.socket_attacks import (
    endless_header,
    open_half_requests,
    read_nothing,
    read_slowly,
    reset_while_answered,
    send_endless_header,
)
from tests.drills.front_door.target import LARGE_FILE, Target
from tests.support.stack import eventually

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def target(stack):
    """Return an anonymous attacker's target: a file of 3.9 MB."""
    return Target(port=stack.port, large=LARGE_FILE)


@pytest.fixture(scope="module")
def with_token(target, client):
    """Return a target with a token: a document of 7 MB."""
    text = "# Large\n\n" + "The wombat digs a long burrow. " * 230_000
    uploaded = client.upload("large.txt", text)
    eventually(lambda: client.get("/documents")["results"], "the large document is there")
    document = client.get("/documents")["results"][0]["id"]
    assert uploaded
    large = f"/api/v1/workspaces/{client.slug}/documents/{document}/content"
    return replace(target, large=large, workspace=client.slug, token=client.token)


@pytest.fixture(scope="module")
def bystander(stack, with_token, make_client):
    own = make_client()
    own.upload("note.md", "# Wombat\n\nA wombat was seen.\n", wait_for="searchable")
    asking = Bystander(stack.url, own.slug, own.token)
    start_threads(with_token, asking)
    return asking


@pytest.fixture(scope="module")
def processes(stack):
    return WebProcesses(stack.url, stack.pids()["web"])


def routes(port):
    try:
        return httpx.get(f"http://127.0.0.1:{port}/login").is_success
    except httpx.HTTPError:
        return False


@pytest.fixture(scope="module")
def proxy(stack, tmp_path_factory):
    """Yield the port of a proxy with our configuration in front of the web process."""
    program = find_program("haproxy", "install Debian's haproxy", pytest.skip)
    proxy_ = Proxy(tmp_path_factory.mktemp("front") / "proxy", program, [f"127.0.0.1:{stack.port}"])
    try:
        proxy_.start()
        eventually(lambda: routes(proxy_.port), "it routes", 30)
        yield proxy_.port
    finally:
        proxy_.stop()


@pytest.mark.parametrize("attack", (*ATTACKS, together), ids=lambda attack: attack.__name__)
def test_attack_affects_no_other_client_and_leaves_no_resources(
    attack, target, with_token, bystander, processes, subtests
):
    for attacker in (target, with_token):
        with subtests.test(with_token=bool(attacker.token)):
            assert play(attack, attacker, bystander, processes).faults == []


@pytest.mark.parametrize(
    "attack",
    [reset_while_answered, read_nothing, read_slowly, endless_header, open_half_requests],
    ids=lambda attack: attack.__name__,
)
def test_attack_through_a_proxy_affects_no_other_client_and_leaves_no_resources(
    attack, proxy, target, bystander, processes
):
    asking = bystander.at(f"http://127.0.0.1:{proxy}")
    assert play(attack, replace(target, port=proxy), asking, processes).faults == []


def answer_to(client, limit_s=20.0):
    """Return the status of the first answer, and whether the connection is closed after it."""
    client.settimeout(limit_s)
    try:
        received = client.recv(65_536)
    except ConnectionResetError:
        return 0, True
    status = int(received.split()[1]) if received else 0
    time.sleep(0.2)
    return status, not is_open(client)


def head(*lines):
    return "\r\n".join(["GET /login HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


HEADS = [
    (head(*(f"X-{number}: 1" for number in range(99))), 200, False),
    (head(*(f"X-{number}: 1" for number in range(100))), 431, True),
    (head(f"X: {'y' * 60_000}"), 200, False),
    (head(f"X: {'y' * 140_000}"), 431, True),
    (head("Connection: Upgrade", "Upgrade: websocket"), 400, False),
    (head("Connection: Upgrade", "Upgrade: h2c"), 200, False),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0, True),
    (b"EHLO kebab\r\n\r\n", 400, True),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64), 400, True),
]


def test_request_heads_have_limits(target, subtests):
    for sent, status, is_closed in HEADS:
        with subtests.test(sent=sent[:60]), target.connect() as client:
            client.sendall(sent)
            assert answer_to(client) == (status, is_closed)


def test_endless_header_is_cut_within_a_megabyte(target):
    with ThreadPoolExecutor(4) as threads:
        acknowledged = list(threads.map(send_endless_header, [target] * 4))
    assert max(acknowledged) <= 1_000_000


def test_missing_head_and_unread_answer_time_out(target):
    with target.connect() as silent, target.connect() as slow, target.connect(reads_little=True) as deaf:
        slow.sendall(b"GET /login HTTP/1.1\r\nHost:")
        deaf.sendall(target.request())
        began = time.monotonic()
        for client in (silent, slow):
            assert client.recv(100) == b""
        assert 14 < time.monotonic() - began < 18
        time.sleep(30)
        with pytest.raises(ConnectionResetError):
            while deaf.recv(65_536):
                pass


def test_hundred_pipelined_requests_are_answered_in_order(target):
    paths = [f"/static/kebab/{'base.css' if number % 2 else 'frame.js'}" for number in range(100)]
    with target.connect() as client:
        client.sendall(b"".join(target.request(path, f"X-Request-ID: r{n}") for n, path in enumerate(paths)))
        received = b""
        while received.count(b"x-request-id: r") < 100:
            piece = client.recv(1_000_000)
            assert piece, received[-500:]
            received += piece
    ids = [
        int(line.split(b"r")[-1]) for line in received.split(b"\r\n") if line.startswith(b"x-request-id: r")
    ]
    assert ids == list(range(100))
