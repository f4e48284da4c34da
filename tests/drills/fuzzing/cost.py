"""Requests as bytes on a connection, and what each costs the web processes of a stack."""

import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from itertools import cycle
from typing import Final

from tests.drills.front_door.bystander import WebProcesses
from tests.support.stack import Stack

_SHOWN_CHARS: Final = 160
_TIMEOUT_S: Final = 60.0
_LOG_LINES: Final = 60
#: The status of a request that the server answers by closing the connection.
CLOSED: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A request as a client sends it."""

    method: str
    #: Percent-encoded.
    target: str
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""
    #: The sizes of the pieces, in turn, of a body that is sent in pieces; empty: sent whole.
    pieces: Sequence[int] = ()

    @property
    def preview(self) -> str:
        """Return its beginning, for a report."""
        headers = [f"{name}: {value[:40]!a}" for name, value in self.headers if name != "authorization"]
        target, body = self.target[:_SHOWN_CHARS], self.body[:_SHOWN_CHARS]
        size = f"{len(self.body)} bytes{' in pieces' * bool(self.pieces)}"
        return f"{self.method} {target} {headers} {body!r} ({size})"

    def encode(self, host: str) -> bytes:
        """Return the request's bytes."""
        framing = ("transfer-encoding", "chunked") if self.pieces else ("content-length", str(len(self.body)))
        headers = {"host": host, framing[0]: framing[1], "connection": "close", **dict(self.headers)}
        lines = [f"{name}: {value}" for name, value in headers.items()]
        head = "\r\n".join([f"{self.method} {self.target} HTTP/1.1", *lines, "", ""])
        return head.encode("utf-8", "surrogatepass") + (self._chunked() if self.pieces else self.body)

    def _chunked(self) -> bytes:
        chunks, start = [], 0
        for size in cycle(self.pieces):
            piece = self.body[start : start + size]
            chunks.append(b"%x\r\n%b\r\n" % (len(piece), piece))
            start += size
            if not piece:
                return b"".join(chunks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The answer to a request, and its cost."""

    status: int
    body: bytes
    #: Processor time of all threads of the web processes.
    processor_s: float
    elapsed_s: float
    #: How much the highest use of memory by a web process has grown.
    grown_bytes: int
    #: The end of the log of the web processes, for a server error.
    error: str = ""


class Meter:
    """Client of a stack that sends one request at a time, and measures each."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self.processes = WebProcesses(stack.url, stack.pids()["web"])

    def send(self, sent: Sent) -> Cost:
        """Return what the answer to a request costs."""
        peak, processor = self.processes.peak_bytes(), self.processes.processor_s()
        began = time.perf_counter()
        status, body = self._exchange(sent)
        elapsed_s = time.perf_counter() - began
        return Cost(
            status=status,
            body=body,
            processor_s=self.processes.processor_s() - processor,
            elapsed_s=elapsed_s,
            grown_bytes=self.processes.peak_bytes() - peak,
            error=self._stack.log("web", _LOG_LINES) if status >= 500 else "",
        )

    def _exchange(self, sent: Sent) -> tuple[int, bytes]:
        with socket.create_connection(("127.0.0.1", self._stack.port), _TIMEOUT_S) as client:
            with suppress(OSError):  # it may be refused before its end
                client.sendall(sent.encode(f"127.0.0.1:{self._stack.port}"))
            try:
                with HTTPResponse(client, method=sent.method) as response:
                    response.begin()
                    return response.status, response.read()
            except (OSError, HTTPException):
                return CLOSED, b""
