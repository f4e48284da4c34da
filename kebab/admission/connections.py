"""This process's connections to clients: who has too many, and who doesn't read what is sent.

The server lets no more in than the process may have, and closes those that send no request in time; what it
has no limit for is done here, to the sockets themselves.
"""

import contextlib
import os
import socket
import stat
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from typing import Final

from kebab.admission.limits import CONNECTIONS_OF_ADDRESS, SENDING_S
from kebab.limits.client import is_trusted, network_of, parsed_address

Peer = tuple[str, int]

# By which Linux closes a connection whose other end takes nothing, as tcp(7) has it.
_USER_TIMEOUT: Final = getattr(socket, "TCP_USER_TIMEOUT", None)


class ConnectionGuard:
    """Looks at all connections of the process."""

    def __init__(self, peers_under_way: Callable[[], Collection[Peer]]) -> None:
        """`peers_under_way` returns who has a request that is being answered: they are closed last."""
        self._peers_under_way = peers_under_way

    def look(self) -> int:
        """Close what an address has too many of, and return how many those were."""
        by_address: dict[str, list[Peer]] = defaultdict(list)
        for connection, peer in connections():
            _limit_sending(connection)
            address = parsed_address(peer[0])
            if address is not None and not is_trusted(address):
                by_address[network_of(address)].append(peer)
        under_way = set(self._peers_under_way())
        n_closed = 0
        for peers in by_address.values():
            excess = len(peers) - CONNECTIONS_OF_ADDRESS
            if excess > 0:
                first = sorted(peers, key=under_way.__contains__)
                n_closed += close_connections(set(first[:excess]))
        return n_closed


def close_connections(peers: Collection[Peer]) -> int:
    """Close the connections to these clients, whatever they are doing; return how many there were."""
    n_closed = 0
    for connection, peer in connections():
        if peer in peers:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
                n_closed += 1
    return n_closed


def connections() -> Iterator[tuple[socket.socket, Peer]]:
    """Yield each connection that this process has accepted, with its other end; use it at once."""
    own = list(_sockets())
    try:
        ports = {each.getsockname()[1] for each in own if _is_listening(each)}
        for each in own:
            with contextlib.suppress(OSError):  # closed meanwhile, or none of TCP
                if each.getsockname()[1] in ports and not _is_listening(each):
                    host, port, *_ = each.getpeername()
                    yield each, (host, port)
    finally:
        for each in own:
            each.close()


def _sockets() -> Iterator[socket.socket]:
    """Yield the process's TCP sockets, each under a number of its own that is closed with it."""
    for name in os.listdir("/dev/fd"):  # noqa: PTH208  # thousands of names, of which numbers are made
        with contextlib.suppress(OSError):
            if not stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                continue
            number = os.dup(int(name))
            try:
                found = socket.socket(fileno=number)
            except OSError:  # another file has had the number since
                os.close(number)
                continue
            if found.family in {socket.AF_INET, socket.AF_INET6} and found.type == socket.SOCK_STREAM:
                yield found
            else:
                found.close()


def _is_listening(sock: socket.socket) -> bool:
    return bool(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))


def _limit_sending(connection: socket.socket) -> None:
    if _USER_TIMEOUT is not None:
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT, SENDING_S * 1000)
