"""Clients that misbehave at the level of sockets; each attack lasts as long as its context."""

import contextlib
import socket
import struct
import threading
import time
from contextlib import ExitStack

from tests.drills.front_door.target import Attack, Target, connect_many, repeat, send

# Where `struct tcp_info` of <linux/tcp.h> has tcpi_bytes_acked.
_ACKED_AT = 120


def reset_while_answered(target: Target, stack: ExitStack) -> None:
    """Send two requests at once, read nothing, and reset."""
    with ExitStack() as own:
        clients = connect_many(40, target, own, reads_little=True)
        for client in clients:
            send(client, 2 * target.request())
        time.sleep(0.15)
        for client in clients:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def half_close(target: Target, stack: ExitStack) -> None:
    """Send a request, and close the sending side."""
    for client in connect_many(40, target, stack, reads_little=True):
        send(client, target.request())
        client.shutdown(socket.SHUT_WR)


def pipeline_two(target: Target, stack: ExitStack) -> None:
    """Send two requests before the first answer, and read nothing."""
    for client in connect_many(20, target, stack, reads_little=True):
        send(client, 2 * target.request())


def pipeline_hundred(target: Target, stack: ExitStack) -> None:
    """Send a hundred requests before the first answer, and read nothing."""
    for client in connect_many(20, target, stack, reads_little=True):
        send(client, 100 * target.request())


def read_nothing(target: Target, stack: ExitStack) -> None:
    """Send a request, and read nothing."""
    for client in connect_many(80, target, stack, reads_little=True):
        send(client, target.request())


def read_slowly(target: Target, stack: ExitStack) -> None:
    """Send a request, and read 500 bytes a second."""
    clients = connect_many(40, target, stack, reads_little=True)
    for client in clients:
        send(client, target.request())
        client.setblocking(False)
    repeat(stack, lambda: [_receive(client, 100) for client in clients], 0.2)


def _receive(client: socket.socket, at_most: int) -> None:
    with contextlib.suppress(OSError):
        client.recv(at_most)


def send_head_slowly(target: Target, stack: ExitStack) -> None:
    """Send a request's head, a byte every half second."""
    clients = connect_many(100, target, stack)
    for client in clients:
        send(client, b"GET / HTTP/1.1\r\nHost: ")
    repeat(stack, lambda: [send(client, b"x") for client in clients], 0.5)


def endless_header(target: Target, stack: ExitStack) -> None:
    """Send one header line of up to 300 MB, four times at once."""

    threads = [threading.Thread(target=send_endless_header, args=(target,)) for _ in range(4)]
    for thread in threads:
        thread.start()
        stack.callback(thread.join)


def send_endless_header(target: Target) -> int:
    """Send one header line of up to 300 MB; return how many bytes the server acknowledged.

    The client's own socket takes up to 4 MB that never leave it.
    """
    with target.connect() as client:
        with contextlib.suppress(OSError):
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
            for _ in range(4_800):
                client.sendall(b"y" * 65_536)
        info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _ACKED_AT + 8)
        return int(struct.unpack_from("Q", info, _ACKED_AT)[0])


def many_headers(target: Target, stack: ExitStack) -> None:
    """Send 200,000 headers, four times."""
    lines = b"".join(b"X-%d: 1\r\n" % number for number in range(200_000))
    for client in connect_many(4, target, stack):
        send(client, b"GET / HTTP/1.1\r\nHost: localhost\r\n" + lines + b"\r\n")


def open_half_requests(target: Target, stack: ExitStack) -> None:
    """Open 3,000 connections, and send half a head on each."""
    for client in connect_many(3_000, target, stack):
        send(client, b"GET / HTTP/1.1\r\nHost:")


def websockets(target: Target, stack: ExitStack) -> None:
    """Request a WebSocket where there is none."""
    upgrade = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
    for client in connect_many(20, target, stack):
        send(client, target.request("/w/any/search", *upgrade, "Sec-WebSocket-Key: " + "A" * 22 + "=="))


def http2_preface(target: Target, stack: ExitStack) -> None:
    """Send the preface of HTTP/2."""
    for client in connect_many(20, target, stack):
        send(client, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9))


SOCKET_ATTACKS: tuple[Attack, ...] = (
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
