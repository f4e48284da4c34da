"""Connections with a deadline for the whole request, to permitted addresses only.

The HTTP library's own limits apply to one read each: a server that sends a byte a second could hold a request
for hours.

The connection goes to a checked address: a name that passes a check and is then resolved again could lead
elsewhere the second time (DNS rebinding).

The error tree of outgoing requests:

RequestFailed
├── AddressRefused      the name leads to an address that Kebab may not reach
├── ResponseTooLarge    more bytes than may be read
├── TimedOut            no complete response within the limit
└── StatusRefused       a response other than 2xx

A message completes a sentence whose subject is the other side ("did not answer in time"). It names no
address and nothing of the request, so that it may be shown to anybody.
"""

import ipaddress
import re
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from ssl import SSLContext, SSLError
from threading import Thread
from typing import Any

import httpcore2


class RequestFailed(Exception):
    """The request has no usable response."""


class AddressRefused(RequestFailed):
    """The name leads to an address that Kebab may not reach."""


class ResponseTooLarge(RequestFailed):
    """The response has more bytes than may be read."""


class TimedOut(RequestFailed):
    """There was no complete response within the limit."""


class StatusRefused(RequestFailed):
    """The response was not a 2xx."""

    def __init__(self, message: str, *, status: int, retry_after_s: float | None = None) -> None:
        """Take the status and the `Retry-After` of the response, in seconds."""
        super().__init__(message)
        self.status = status
        self.retry_after_s = retry_after_s


@contextmanager
def map_errors() -> Iterator[None]:
    """Map exceptions of the HTTP library, raised in the block, to the errors of this tree."""
    try:
        yield
    except (TimeoutError, httpcore2.TimeoutException) as error:
        raise TimedOut("did not answer in time") from error
    except httpcore2.ConnectError as error:
        if isinstance(error.__context__, SSLError):
            raise RequestFailed("shows a certificate that can't be trusted, or speaks no TLS") from error
        raise RequestFailed("can't be reached") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        raise RequestFailed("broke off its answer, or did not speak HTTP") from error


# The IPv6 range assigned for public use (RFC 4291, 2.4; IANA), and the prefix under which a network's
# translator maps IPv4 addresses (RFC 6052).
_PUBLIC_IPV6 = ipaddress.IPv6Network("2000::/3")
_TRANSLATED_IPV4 = ipaddress.IPv6Network("64:ff9b::/96")
_LOOPBACK_NAME = "localhost"
_USER = re.compile(r"://[^/?#]*@")
# One message for both failures, or it would reveal which internal names exist.
_NOT_PUBLIC = "can't be found, or is not public; check it, or add its name to KEBAB_PRIVATE_HOSTS"


def resolve_permitted(
    host: str,
    port: int,
    private_hosts: Collection[str],
    *,
    limit_s: float | None = None,
    on_wait: Callable[[], None] = lambda: None,
) -> list[str]:
    """Return the numeric addresses of `host`, in the resolver's order, all of which Kebab may reach.

    Private, loopback, link-local and reserved ones are permitted for the names in `private_hosts` only.
    Raises AddressRefused, RequestFailed for a name without an address, TimedOut after `limit_s`. Without a
    limit it takes as long as the resolver does; with one `on_wait` is called twice a second, and may raise.
    """
    try:
        found = _look_up(host, port, limit_s, on_wait)
    except TimeoutError as error:
        raise TimedOut("did not answer in time") from error
    except (OSError, UnicodeError) as error:
        raise RequestFailed(_NOT_PUBLIC) from error
    addresses = list(dict.fromkeys(str(info[4][0]) for info in found))
    if host.lower() not in private_hosts and not all(map(_is_public, addresses)):
        raise AddressRefused(_NOT_PUBLIC)
    return addresses


def connect_permitted(
    host: str, port: int, private_hosts: Collection[str], *, timeout_s: float
) -> socket.socket:
    """Return a connection to the first permitted address of `host` that answers.

    The time limit applies to the lookup and to each attempt. Raises AddressRefused, RequestFailed.
    """
    for address in resolve_permitted(host, port, private_hosts, limit_s=timeout_s):
        with suppress(OSError):
            return socket.create_connection((address, port), timeout=timeout_s)
    raise RequestFailed("can't be reached")


def mask_address(url: str, *, keeps_path: bool = False) -> str:
    """Return a URL without what may be a secret: user, query, and unless it is kept the path.

    `…` stands for what is left out.
    """
    place, *query = re.split(r"[?#]", _USER.sub("://", url), maxsplit=1)
    if keeps_path:
        return f"{place}?…" if query else place
    origin = re.match(r"[a-z]+://[^/]*/?", place)
    if origin is None:
        return "…"
    return place if origin[0] == place and not query else f"{origin[0].rstrip('/')}/…"


def is_explicit_address(host: str) -> bool:
    """Return whether `host` is `localhost` or a numeric address, whose target is plain to its author."""
    return host.lower() == _LOOPBACK_NAME or _is_numeric(host)


def _look_up(host: str, port: int, limit_s: float | None, on_wait: Callable[[], None]) -> list[Any]:
    """Return what `getaddrinfo` finds. Raises TimeoutError after `limit_s`, OSError, UnicodeError."""
    if limit_s is None or _is_numeric(host):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    found: Future[list[Any]] = Future()
    # The resolver can't be interrupted, and gives up after 10 to 30 s. Each lookup has its own thread: in a
    # shared pool a few dead names would delay all others, and exits would wait for its threads. A caller
    # waits for `limit_s` before its next lookup, so that few threads of each caller remain.
    Thread(target=_set_found, args=(found, host, port), name="name lookup", daemon=True).start()
    ends_at = time.monotonic() + limit_s
    while (left_s := ends_at - time.monotonic()) > _WAIT_PERIOD_S:
        if wait([found], _WAIT_PERIOD_S).done:
            break
        on_wait()
    return found.result(max(0.0, left_s))


def _set_found(found: "Future[list[Any]]", host: str, port: int) -> None:
    try:
        found.set_result(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except BaseException as error:  # noqa: BLE001 - raised again in the caller, which waits for it
        found.set_exception(error)


def _is_numeric(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_public(address: str) -> bool:
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        carried = _embedded_ipv4(ip)
        if carried is None and ip not in _PUBLIC_IPV6:
            return False
        ip = carried or ip
    return ip.is_global and not ip.is_multicast


def _embedded_ipv4(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address that packets for this IPv6 address are forwarded to."""
    if ip in _TRANSLATED_IPV4:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour


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
