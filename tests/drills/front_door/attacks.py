"""Clients that misbehave at the level of sockets; each attack lasts as long as its context."""

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

#: A public file of 3.9 MB, Swagger UI's largest.
LARGE_FILE = "/static/drf_spectacular_sidecar/redoc/bundles/redoc.standalone.js.map"
_LIMIT_S = 20.0
_SMALL_BUFFER_BYTES = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The target of an attack."""

    port: int
    #: A path whose answer has megabytes.
    large: str
    #: The attacker's token; "" when not signed in.
    token: str = ""
    #: The attacker's address: all of 127.0.0.0/8 is this machine.
    source: str = "127.0.0.1"

    def connect(self, *, reads_little: bool = False) -> socket.socket:
        """Return a new connection."""
        client = socket.socket()
        if reads_little:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL_BUFFER_BYTES)
        client.settimeout(_LIMIT_S)
        client.bind((self.source, 0))
        client.connect(("127.0.0.1", self.port))
        return client

    def request(self, path: str = "", *headers: str) -> bytes:
        """Return a whole request, of the large answer when no path is given."""
        own = [f"Authorization: Bearer {self.token}"] if self.token else []
        lines = [f"GET {path or self.large} HTTP/1.1", "Host: localhost", *own, *headers, "", ""]
        return "\r\n".join(lines).encode()


Attack = Callable[[Target, ExitStack], None]


def _many(number: int, target: Target, stack: ExitStack, **how: bool) -> list[socket.socket]:
    return [stack.enter_context(target.connect(**how)) for _ in range(number)]


def _send(client: socket.socket, content: bytes) -> None:
    with contextlib.suppress(OSError):  # it may have been rejected before its end
        client.sendall(content)


def _in_background(stack: ExitStack, act: Callable[[], object], pause_s: float) -> None:
    """Repeat `act` until the attack ends."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(pause_s):
            with contextlib.suppress(OSError):
                act()

    thread = threading.Thread(target=run)
    thread.start()
    stack.callback(thread.join)
    stack.callback(ended.set)


def reset_while_answered(target: Target, stack: ExitStack) -> None:
    """Send two requests at once, read nothing, and reset."""
    with ExitStack() as own:
        clients = _many(40, target, own, reads_little=True)
        for client in clients:
            _send(client, 2 * target.request())
        time.sleep(0.15)
        for client in clients:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def half_close(target: Target, stack: ExitStack) -> None:
    """Send a request, and close the sending side."""
    for client in _many(40, target, stack, reads_little=True):
        _send(client, target.request())
        client.shutdown(socket.SHUT_WR)


def pipeline_two(target: Target, stack: ExitStack) -> None:
    """Send two requests before the first answer, and read nothing."""
    for client in _many(20, target, stack, reads_little=True):
        _send(client, 2 * target.request())


def pipeline_hundred(target: Target, stack: ExitStack) -> None:
    """Send a hundred requests before the first answer, and read nothing."""
    for client in _many(20, target, stack, reads_little=True):
        _send(client, 100 * target.request())


def read_nothing(target: Target, stack: ExitStack) -> None:
    """Send a request, and read nothing."""
    for client in _many(80, target, stack, reads_little=True):
        _send(client, target.request())


def read_slowly(target: Target, stack: ExitStack) -> None:
    """Send a request, and read 500 bytes a second."""
    clients = _many(40, target, stack, reads_little=True)
    for client in clients:
        _send(client, target.request())
        client.setblocking(False)
    _in_background(stack, lambda: [_receive(client, 100) for client in clients], 0.2)


def _receive(client: socket.socket, at_most: int) -> None:
    with contextlib.suppress(OSError):
        client.recv(at_most)


def send_head_slowly(target: Target, stack: ExitStack) -> None:
    """Send a request's head, a byte every half second."""
    clients = _many(100, target, stack)
    for client in clients:
        _send(client, b"GET / HTTP/1.1\r\nHost: ")
    _in_background(stack, lambda: [_send(client, b"x") for client in clients], 0.5)


def endless_header(target: Target, stack: ExitStack) -> None:
    """Send one header line of up to 300 MB, four times at once."""

    def send() -> None:
        with target.connect() as client, contextlib.suppress(OSError):
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
            for _ in range(4_800):
                client.sendall(b"y" * 65_536)

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
        stack.callback(thread.join)


def many_headers(target: Target, stack: ExitStack) -> None:
    """Send 200,000 headers, four times."""
    lines = b"".join(b"X-%d: 1\r\n" % number for number in range(200_000))
    for client in _many(4, target, stack):
        _send(client, b"GET / HTTP/1.1\r\nHost: localhost\r\n" + lines + b"\r\n")


def open_half_requests(target: Target, stack: ExitStack) -> None:
    """Open 3,000 connections, and send half a head on each."""
    for client in _many(3_000, target, stack):
        _send(client, b"GET / HTTP/1.1\r\nHost:")


def websockets(target: Target, stack: ExitStack) -> None:
    """Request a WebSocket where there is none."""
    upgrade = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
    for client in _many(20, target, stack):
        _send(client, target.request("/w/any/search", *upgrade, "Sec-WebSocket-Key: " + "A" * 22 + "=="))


def http2_preface(target: Target, stack: ExitStack) -> None:
    """Send the preface of HTTP/2."""
    for client in _many(20, target, stack):
        _send(client, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9))


ATTACKS: tuple[Attack, ...] = (
    reset_while_answered,
    half_close,
    pipeline_two,
    pipeline_hundred,
    read_nothing,
    read_slowly,
    send_head_slowly,
    endless_header,
    many_headers,
    open_half_requests,
    websockets,
    http2_preface,
)


@contextmanager
def run_attack(attack: Attack, target: Target) -> Iterator[None]:
    """Attack during the block."""
    with ExitStack() as stack:
        attack(target, stack)
        yield
