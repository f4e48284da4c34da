"""The proxy of the drill between a client and an echo server on a Unix socket."""

import socket
import socketserver
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drills.crash.proxy import Mode, Proxy

_LATENCY_S = 0.2
_SHORT_S = 0.3


class Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while block := self.request.recv(1_000):
            self.request.sendall(block)


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "echo.sock"
        with socketserver.ThreadingUnixStreamServer(str(path), Echo) as server:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, daemon=True).start()
            with Proxy(path, latency_s=_LATENCY_S) as proxy:
                yield proxy
            server.shutdown()


@pytest.fixture
def client(proxy: Proxy) -> Iterator[socket.socket]:
    with connect(proxy) as client:
        assert echo(client) == b"hello"
        yield client


def connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=5)


def echo(client: socket.socket) -> bytes:
    client.sendall(b"hello")
    return client.recv(100)


def test_slow_proxy_delays_each_block(proxy, client):
    proxy.set_mode(Mode.SLOW)
    began_s = time.monotonic()
    assert echo(client) == b"hello"
    assert time.monotonic() - began_s >= 2 * _LATENCY_S


def test_reset_breaks_connections_and_lets_new_ones_through(proxy, client):
    proxy.set_mode(Mode.RESET)
    with pytest.raises(ConnectionResetError):
        echo(client)
    with connect(proxy) as other:
        assert echo(other) == b"hello"


def test_proxy_that_is_down_refuses_connections_until_it_is_open(proxy, client):
    proxy.set_mode(Mode.DOWN)
    with pytest.raises(ConnectionResetError):
        echo(client)
    with pytest.raises(ConnectionRefusedError):
        connect(proxy)
    proxy.set_mode(Mode.OPEN)
    with connect(proxy) as other:
        assert echo(other) == b"hello"


def test_black_hole_delivers_held_bytes_once_reopened(proxy, client):
    proxy.set_mode(Mode.BLACK_HOLE)
    client.settimeout(_SHORT_S)
    with pytest.raises(TimeoutError):
        echo(client)
    proxy.set_mode(Mode.OPEN)
    client.settimeout(5)
    assert client.recv(100) == b"hello"
