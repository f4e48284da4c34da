"""Which addresses a name may lead to. They are checked after DNS, and the connection goes to one of those.

A name that passes a check and is then resolved again could lead somewhere else the second time.
"""

import ipaddress
import socket
from collections.abc import Collection

from kebab.http_client.errors import AddressRefused, RequestFailed

# What has been given out of IPv6 for the public (RFC 4291, 2.4; IANA), and the prefix behind which a
# network's translator finds the rest of IPv4 (RFC 6052).
_PUBLIC_IPV6 = ipaddress.IPv6Network("2000::/3")
_TRANSLATED_IPV4 = ipaddress.IPv6Network("64:ff9b::/96")
_LOOPBACK_NAME = "localhost"
# One sentence for both, or it would tell which names of the inside there are.
_NOT_PUBLIC = "has no public address, and its name is not in KEBAB_PRIVATE_HOSTS"


def permitted_addresses(host: str, port: int, private_hosts: Collection[str]) -> list[str]:
    """Return the numeric addresses of `host`, in the resolver's order, all of which Kebab may reach.

    Private, loopback, link-local and reserved ones are for the names in `private_hosts` alone. Raises
    AddressRefused, RequestFailed for a name without an address. It takes as long as the resolver does.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise RequestFailed(_NOT_PUBLIC) from error
    addresses = list(dict.fromkeys(str(info[4][0]) for info in found))
    if host.lower() not in private_hosts and not all(map(_is_public, addresses)):
        raise AddressRefused(_NOT_PUBLIC)
    return addresses


def names_its_address(host: str) -> bool:
    """Return whether `host` is `localhost` or an address as such: who writes that knows where it leads."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host.lower() == _LOOPBACK_NAME
    return True


def _is_public(address: str) -> bool:
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        carried = _carried_ipv4(ip)
        if carried is None and ip not in _PUBLIC_IPV6:
            return False
        ip = carried or ip
    return ip.is_global and not ip.is_multicast


def _carried_ipv4(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address to which packets for this one are handed on."""
    if ip in _TRANSLATED_IPV4:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour
