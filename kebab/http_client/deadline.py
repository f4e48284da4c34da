"""Connections that keep a deadline for the whole of a request, and go to permitted addresses only.

The HTTP client's own limits are for one read each: a server that sends a byte a second would keep it for
hours.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from ssl import SSLContext
from typing import Any

import httpcore2

from kebab.http_client.addresses import permitted_addresses

# Sent at once: between two pieces the deadline is looked at.
_PIECE_BYTES = 65_536
# Nobody who waits for an answer is left alone with it for longer.
_LOOK_S = 0.5


def _nothing() -> None:
    """Stand in for who has nothing to do while waiting."""


class Deadline:
    """Until when the request of the calling thread may take."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._of_thread = threading.local()

    @contextmanager
    def within(self, limit_s: float, on_wait: Callable[[], None] = _nothing) -> Iterator[None]:
        """Set the calling thread's deadline for what is done inside.

        `on_wait` is called about twice a second while an answer is waited for; what it raises ends the wait.
        """
        self._of_thread.at = self._clock() + limit_s
        self._of_thread.on_wait = on_wait
        try:
            yield
        finally:
            del self._of_thread.at, self._of_thread.on_wait

    def remaining_s(self, at_most_s: float | None) -> float:
        """Return the seconds that are left, `at_most_s` at most. Raises TimeoutError when none are."""
        left: float = self._of_thread.at - self._clock()
        if left <= 0:
            raise TimeoutError("the time for the request is over")
        return left if at_most_s is None else min(left, at_most_s)

    def look(self) -> None:
        """Let the one who waits do what there is to do meanwhile."""
        self._of_thread.on_wait()


class DeadlineBackend(httpcore2.NetworkBackend):
    """Opens TCP connections to permitted addresses, each read and write of which keeps the deadline."""

    def __init__(self, deadline: Deadline, private_hosts: Collection[str]) -> None:
        self._backend = httpcore2.SyncBackend()
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
        for address in permitted_addresses(host, port, self._private_hosts):
            left_s = self._deadline.remaining_s(timeout)
            try:
                stream = self._backend.connect_tcp(address, port, left_s, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
            else:
                return _DeadlineStream(stream, self._deadline)
        raise failure


class _DeadlineStream(httpcore2.NetworkStream):
    def __init__(self, stream: httpcore2.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline
        self._looked_at = time.monotonic()

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        while True:
            left_s = self._deadline.remaining_s(timeout)
            # Also where pieces keep coming, which may be nothing of what is waited for.
            if time.monotonic() - self._looked_at > _LOOK_S:
                self._look()
            try:
                return self._stream.read(max_bytes, min(left_s, _LOOK_S))
            except httpcore2.ReadTimeout:
                if left_s <= _LOOK_S:
                    raise
                self._look()

    def _look(self) -> None:
        self._looked_at = time.monotonic()
        self._deadline.look()

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._looked_at = time.monotonic()
        for at in range(0, len(buffer), _PIECE_BYTES):
            self._stream.write(buffer[at : at + _PIECE_BYTES], self._deadline.remaining_s(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        left_s = self._deadline.remaining_s(timeout)
        return _DeadlineStream(self._stream.start_tls(ssl_context, server_hostname, left_s), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
