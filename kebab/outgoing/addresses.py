"""Which addresses a name may lead to. They are checked after DNS, and the connection goes to one of those.

A name that passes a check and is then resolved again could lead somewhere else the second time.
"""

import ipaddress
import socket
from collections.abc import Collection

from kebab.outgoing.errors import AddressRefused, RequestFailed

_LOOPBACK_NAME = "localhost"


def permitted_addresses(host: str, port: int, private_hosts: Collection[str]) -> list[str]:
    """Give the numeric addresses of `host`, in the resolver's order, all of which Kebab may reach.

    Private, loopback, link-local and reserved ones are for the names in `private_hosts` alone. Raises
    AddressRefused, RequestFailed for a name without an address. It takes as long as the resolver does.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise RequestFailed("has a name without an address") from error
    addresses = list(dict.fromkeys(str(info[4][0]) for info in found))
    if host.lower() not in private_hosts and not all(map(_is_public, addresses)):
        raise AddressRefused("has a private address, and its name is not in KEBAB_PRIVATE_HOSTS")
    return addresses


def names_its_address(host: str) -> bool:
    """Whether `host` is `localhost` or an address as such: who writes that knows where it leads."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host.lower() == _LOOPBACK_NAME
    return True


def _is_public(address: str) -> bool:
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    return ip.is_global and not ip.is_multicast
