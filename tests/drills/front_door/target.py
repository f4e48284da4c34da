"""Targets of attacks, and acts that go on in the background."""

import contextlib
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack
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
    #: The workspace that is asked, by its slug.
    workspace: str = "any"
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

    def request(self, path: str = "", *headers: str, method: str = "GET", body: bytes = b"") -> bytes:
        """Return a whole request, of the large answer when no path is given."""
        own = [f"Authorization: Bearer {self.token}"] if self.token else []
        if body:
            own += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        lines = [f"{method} {path or self.large} HTTP/1.1", "Host: localhost", *own, *headers, "", ""]
        return "\r\n".join(lines).encode() + body


Attack = Callable[[Target, ExitStack], None]


def connect_many(number: int, target: Target, stack: ExitStack, **how: bool) -> list[socket.socket]:
    """Return new connections that are closed when the attack ends."""
    return [stack.enter_context(target.connect(**how)) for _ in range(number)]


def send(client: socket.socket, content: bytes) -> None:
    """Send all of `content` unless the connection is closed meanwhile."""
    with contextlib.suppress(OSError):  # it may have been rejected before its end
        client.sendall(content)


def repeat(stack: ExitStack, act: Callable[[], object], pause_s: float) -> None:
    """Repeat `act` in a thread until the attack ends."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(pause_s):
            with contextlib.suppress(OSError):
                act()

    thread = threading.Thread(target=run)
    thread.start()
    stack.callback(thread.join)
    stack.callback(ended.set)
