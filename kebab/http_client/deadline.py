"""Connections with a deadline for the whole request, to permitted addresses only.

The HTTP library's own limits apply to one read each: a server that sends a byte a second could hold a request
for hours.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from ssl import SSLContext
from typing import Any

import httpcore2

from kebab.http_client.addresses import resolve_permitted

# Bytes sent at once: the deadline is checked between two pieces.
_PIECE_BYTES = 65_536
# Longest time between two calls of `on_wait`.
_WAIT_PERIOD_S = 0.5


def do_nothing() -> None:
    """Do nothing: the default `on_wait`."""


def ignore_size(size_bytes: int) -> None:
    """Do nothing: the default `on_bytes`."""


class Deadline:
    """The deadline of the calling thread's request."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._of_thread = threading.local()

    @contextmanager
    def within(self, limit_s: float, on_wait: Callable[[], None] = do_nothing) -> Iterator[None]:
        """Set the calling thread's deadline for the block.

        `on_wait` is called about twice a second while a response is awaited; an exception from it ends the
        wait.
        """
        self._of_thread.at = self._clock() + limit_s
        self._of_thread.on_wait = on_wait
        try:
            yield
        finally:
            del self._of_thread.at, self._of_thread.on_wait

    def remaining_s(self, at_most_s: float | None) -> float:
        """Return the remaining seconds, `at_most_s` at most. Raises TimeoutError when none are left."""
        left: float = self._of_thread.at - self._clock()
        if left <= 0:
            raise TimeoutError("the time for the request is over")
        return left if at_most_s is None else min(left, at_most_s)

    def run_on_wait(self) -> None:
        """Call the `on_wait` of the calling thread's request."""
        self._of_thread.on_wait()


class DeadlineBackend(httpcore2.NetworkBackend):
    """A network backend for permitted addresses; the deadline limits each read and write."""

    def __init__(
        self,
        deadline: Deadline,
        private_hosts: Collection[str],
        on_bytes: Callable[[int], None] = ignore_size,
    ) -> None:
        """Take what is called with the number of bytes that each read receives, and may raise."""
        self._backend = httpcore2.SyncBackend()
        self._on_bytes = on_bytes
        self._deadline = deadline
        self._private_hosts = private_hosts

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to the first address of `host` that answers. Raises RequestFailed, ConnectError."""
        failure: Exception = httpcore2.ConnectError("no address")
        # `timeout` is for a connection: a resolver that repeats a lost question needs five seconds.
        lookup_s = self._deadline.remaining_s(None)
        for address in resolve_permitted(host, port, self._private_hosts, limit_s=lookup_s):
            left_s = self._deadline.remaining_s(timeout)
            try:
                stream = self._backend.connect_tcp(address, port, left_s, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
            else:
                return _DeadlineStream(stream, self._deadline, self._on_bytes)
        raise failure


class _DeadlineStream(httpcore2.NetworkStream):
    def __init__(
        self, stream: httpcore2.NetworkStream, deadline: Deadline, on_bytes: Callable[[int], None]
    ) -> None:
        self._stream = stream
        self._deadline = deadline
        self._on_bytes = on_bytes
        self._waited_at = time.monotonic()

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        while True:
            left_s = self._deadline.remaining_s(timeout)
            # Also while data keeps coming, which may be no progress for the caller.
            if time.monotonic() - self._waited_at > _WAIT_PERIOD_S:
                self._run_on_wait()
            try:
                received = self._stream.read(max_bytes, min(left_s, _WAIT_PERIOD_S))
            except httpcore2.ReadTimeout:
                if left_s <= _WAIT_PERIOD_S:
                    raise
                self._run_on_wait()
            else:
                self._on_bytes(len(received))
                return received

    def _run_on_wait(self) -> None:
        self._waited_at = time.monotonic()
        self._deadline.run_on_wait()

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._waited_at = time.monotonic()
        for at in range(0, len(buffer), _PIECE_BYTES):
            self._stream.write(buffer[at : at + _PIECE_BYTES], self._deadline.remaining_s(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        left_s = self._deadline.remaining_s(timeout)
        encrypted = self._stream.start_tls(ssl_context, server_hostname, left_s)
        return _DeadlineStream(encrypted, self._deadline, self._on_bytes)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
