"""A local HTTP server that speaks `/rerank`, correctly or not, over real sockets."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

Behaviour = Callable[["Exchange"], None]
AnyStub = TypeVar("AnyStub", bound="Stub")


class Stub(ThreadingHTTPServer):
    """Responds to every request as `behaviour` does, and records it."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, behaviour: Behaviour, exchange: "type[Exchange] | None" = None) -> None:
        super().__init__(("127.0.0.1", 0), exchange or Exchange)
        self.behaviour = behaviour
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.peers: set[tuple[str, int]] = set()
        #: Set when the test is over: what hangs lets go.
        self.released = threading.Event()

    @property
    def url(self) -> str:
        """Return the address of `/rerank`."""
        return f"http://127.0.0.1:{self.server_address[1]}/rerank"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: the tests make clients hang up."""


class Exchange(BaseHTTPRequestHandler):
    """One request and the behaviour's response."""

    protocol_version = "HTTP/1.1"
    server: Stub

    def do_POST(self) -> None:
        """Record the request, and respond."""
        self.sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(self.sent)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.server.paths.append(self.path)
        self.server.peers.add(self.client_address)
        self.server.behaviour(self)

    def log_message(self, *args: Any) -> None:
        """Log nothing."""

    @property
    def passages(self) -> list[str]:
        """Return the passages that were sent, whatever the shape of the request."""
        return self.sent.get("texts") or self.sent["documents"]

    def reply(self, body: bytes, *, status: int = 200, keeps: bool = False, **headers: str) -> None:
        """Respond with the whole of `body`."""
        self.begin(len(body), status=status, keeps=keeps, **headers)
        self.wfile.write(body)

    def begin(self, length: int, *, status: int = 200, keeps: bool = False, **headers: str) -> None:
        """Send the head of a response of `length` bytes."""
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name, value)
        if not keeps:
            self.send_header("Connection", "close")
        self.end_headers()

    def drip(self, pieces: Iterator[bytes]) -> None:
        """Send pieces slowly until they are used up, the client has left or the test is over."""
        for piece in pieces:
            if self.server.released.wait(0.01):
                return
            self.wfile.write(piece)
            self.wfile.flush()


@contextmanager
def serving(behaviour: Behaviour) -> Iterator[Stub]:
    """Run a stub during the block."""
    with running(Stub(behaviour)) as stub:
        yield stub


@contextmanager
def running(stub: AnyStub) -> Iterator[AnyStub]:
    """Run this stub during the block."""
    thread = threading.Thread(target=stub.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield stub
    finally:
        stub.released.set()
        stub.shutdown()
        thread.join()
        stub.server_close()


def closed_port() -> int:
    """Return a local port on which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
