"""The client address of a request, behind trusted proxies or not."""

import ipaddress
import logging
from collections.abc import Iterator
from functools import cache, lru_cache

from django.conf import settings
from django.http import HttpRequest

logger = logging.getLogger(__name__)

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# A client with one IPv6 address has at least a network of this size.
_OWN_NETWORK_BITS = 64
_KNOWN_ADDRESSES = 1_024


def client_address(request: HttpRequest) -> str | None:
    """Return the client's address; None when there is none, as on a local socket.

    X-Forwarded-For counts only as far as it was written by proxies that `KEBAB_TRUSTED_PROXIES` names.
    """
    address = _find_client(*_addresses_in(request))
    return None if address is None else str(address)


def client_network(request: HttpRequest) -> str:
    """Return the client that limits count under: the address, or the /64 of an IPv6 one.

    It is `unknown` without any address.
    """
    return network_of_client(*_addresses_in(request))


def network_of_client(remote: str, forwarded: str | None) -> str:
    """Return `client_network` of a connection's address and of X-Forwarded-For, None without that header."""
    address = _find_client(remote, forwarded)
    return "unknown" if address is None else network_of(address)


def network_of(address: Address) -> str:
    """Return the address, or the /64 of an IPv6 one: a client that has one address of it has all."""
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, _OWN_NETWORK_BITS), strict=False))
    return str(address)


def _addresses_in(request: HttpRequest) -> tuple[str, str | None]:
    return request.META.get("REMOTE_ADDR", ""), request.META.get("HTTP_X_FORWARDED_FOR")


def _find_client(remote: str, forwarded: str | None) -> Address | None:
    address = parse_address(remote)
    if forwarded is None:
        return address
    _check_proxy(address)
    for named in _forwarded_addresses(forwarded):
        if address is None or not is_trusted(address):
            break
        address = named
    return address


def _check_proxy(address: Address | None) -> None:
    """Warn once about a local proxy that isn't trusted, as all its clients count as one."""
    if address is None or (address.is_loopback and not is_trusted(address)):
        _warn_of_proxy(str(address or "a local socket"))


@cache
def _warn_of_proxy(place: str) -> None:
    logger.warning(
        "a proxy at %s sends X-Forwarded-For, and KEBAB_TRUSTED_PROXIES doesn't name it:"
        " all who come through it count as one",
        place,
    )


def _forwarded_addresses(forwarded: str) -> Iterator[Address]:
    """Yield the addresses in X-Forwarded-For, nearest first, up to the first invalid one."""
    for part in reversed(forwarded.split(",")):
        address = parse_address(part)
        if address is None:
            return
        yield address


@lru_cache(maxsize=_KNOWN_ADDRESSES)
def parse_address(text: str) -> Address | None:
    """Return the address in `text`, an IPv4-mapped IPv6 one as IPv4; None if `text` is no address."""
    try:
        address = ipaddress.ip_address(text.strip())
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def is_trusted(address: Address) -> bool:
    """Return whether the address is that of a proxy named by `KEBAB_TRUSTED_PROXIES`."""
    return any(address in network for network in settings.KEBAB_TRUSTED_PROXIES)
