"""Where a request comes from."""

import ipaddress
import logging
from collections.abc import Iterator
from functools import cache

from django.conf import settings
from django.http import HttpRequest

logger = logging.getLogger(__name__)

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# Whoever has one address of IPv6 has at least a network of this size.
_OWN_NETWORK_BITS = 64


def client_address(request: HttpRequest) -> str | None:
    """Return the address that the request came from; None when there is none, as on a local socket.

    X-Forwarded-For counts only as far as it was written by proxies that `KEBAB_TRUSTED_PROXIES` names.
    """
    address = _client(request)
    return None if address is None else str(address)


def client_network(request: HttpRequest) -> str:
    """Return what limits count as one client: the address, or the /64 of an IPv6 one; `unknown`
    without any.
    """
    address = _client(request)
    return "unknown" if address is None else network_of(address)


def network_of(address: Address) -> str:
    """Return the address, or the /64 of an IPv6 one: whoever has one address of it has all."""
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, _OWN_NETWORK_BITS), strict=False))
    return str(address)


def _client(request: HttpRequest) -> Address | None:
    address = parsed_address(request.META.get("REMOTE_ADDR", ""))
    if "HTTP_X_FORWARDED_FOR" in request.META:
        _look_at_proxy(address)
    for named in _forwarded(request):
        if address is None or not is_trusted(address):
            break
        address = named
    return address


def _look_at_proxy(address: Address | None) -> None:
    """Say once of a proxy on this machine that nobody has named it, and all clients are one."""
    if address is None or (address.is_loopback and not is_trusted(address)):
        _warn_of_proxy(str(address or "a local socket"))


@cache
def _warn_of_proxy(place: str) -> None:
    logger.warning(
        "a proxy at %s sends X-Forwarded-For, and KEBAB_TRUSTED_PROXIES doesn't name it:"
        " all who come through it count as one",
        place,
    )


def _forwarded(request: HttpRequest) -> Iterator[Address]:
    """Return the addresses of the header from the nearest on, up to the first that is none."""
    for part in reversed(request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")):
        address = parsed_address(part)
        if address is None:
            return
        yield address


def parsed_address(text: str) -> Address | None:
    """Return an address, an IPv4 one that is written as IPv6 as such; None of any other text."""
    try:
        address = ipaddress.ip_address(text.strip())
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def is_trusted(address: Address) -> bool:
    """Return whether it is that of a proxy which `KEBAB_TRUSTED_PROXIES` names."""
    return any(address in network for network in settings.KEBAB_TRUSTED_PROXIES)
