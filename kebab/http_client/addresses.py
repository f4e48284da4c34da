"""Permitted addresses of outgoing requests, checked after DNS; the connection goes to a checked address.

A name that passes a check and is then resolved again could lead elsewhere the second time (DNS rebinding).
"""

import ipaddress
import re
import socket
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future, wait
from contextlib import suppress
from threading import Thread
from typing import Any

from kebab.http_client.errors import AddressRefused, RequestFailed, TimedOut

# The IPv6 range assigned for public use (RFC 4291, 2.4; IANA), and the prefix under which a network's
# translator maps IPv4 addresses (RFC 6052).
_PUBLIC_IPV6 = ipaddress.IPv6Network("2000::/3")
_TRANSLATED_IPV4 = ipaddress.IPv6Network("64:ff9b::/96")
_WAIT_PERIOD_S = 0.5
_LOOPBACK_NAME = "localhost"
_USER = re.compile(r"://[^/?#]*@")
# One message for both failures, or it would reveal which internal names exist.
_NOT_PUBLIC = "lacks a public address, and its name is not in KEBAB_PRIVATE_HOSTS"


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
