"""Limits on this process's client connections that the server itself does not have.

They are applied to the sockets: connections of one address, and clients that do not read their response.
"""

import os
import socket
import stat
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

from kebab.http.admission.connection_limits import CONNECTIONS_OF_ADDRESS, SENDING_S
from kebab.http.rate_limits.client_address import is_trusted, network_of, parsed_address

Peer = tuple[str, int]

# Linux closes a connection whose peer acknowledges nothing for so long; see tcp(7).
_USER_TIMEOUT: Final = getattr(socket, "TCP_USER_TIMEOUT", None)


class ConnectionGuard:
    """Close connections above the limits, all of them in one pass over the sockets."""

    def __init__(self, under_way: Collection[Peer]) -> None:
        """`under_way` holds the peers whose requests are being answered: they are closed last."""
        self._under_way = under_way
        self._given_up: set[Peer] = set()

    def give_up(self, peer: Peer) -> None:
        """Close the connection to a client at the next pass; may be called in any thread."""
        self._given_up.add(peer)

    def look(self) -> int:
        """Pass over all connections; return how many were closed."""
        given_up = {self._given_up.pop() for _ in range(len(self._given_up))}
        with _accepted() as connections:
            closing = given_up | self._excess(connections)
            return sum(_close(connection) for peer, connection in connections.items() if peer in closing)

    def _excess(self, connections: Collection[Peer]) -> set[Peer]:
        """Return the peers that their addresses have too many of."""
        by_network: dict[str, list[Peer]] = defaultdict(list)
        for peer in connections:
            address = parsed_address(peer[0])
            if address is not None and not is_trusted(address):
                by_network[network_of(address)].append(peer)
        crowds = [peers for peers in by_network.values() if len(peers) > CONNECTIONS_OF_ADDRESS]
        under_way = set(self._under_way) if crowds else set()
        ordered = (sorted(peers, key=under_way.__contains__) for peers in crowds)
        return {peer for peers in ordered for peer in peers[: len(peers) - CONNECTIONS_OF_ADDRESS]}


@contextmanager
def _accepted() -> Iterator[dict[Peer, socket.socket]]:
    """Yield the connections that this process has accepted, by peer, each with the time limit for sending."""
    with ExitStack() as stack:
        own = [stack.enter_context(each) for each in _tcp_sockets()]
        listening = {id(each) for each in own if each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)}
        ports = {each.getsockname()[1] for each in own if id(each) in listening}
        found = {}
        for each in own:
            with suppress(OSError):  # closed in the meantime
                if id(each) not in listening and each.getsockname()[1] in ports:
                    found[each.getpeername()[:2]] = each
                    if _USER_TIMEOUT is not None:
                        each.setsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT, SENDING_S * 1000)
        yield found


def _tcp_sockets() -> Iterator[socket.socket]:
    """Yield duplicates of the process's TCP sockets."""
    for name in os.listdir("/dev/fd"):  # noqa: PTH208  # thousands of names, of which numbers are made
        with suppress(OSError):
            if not stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                continue
            number = os.dup(int(name))
            try:
                found = socket.socket(fileno=number)
            except OSError:  # the number has been reused for another file
                os.close(number)
                continue
            if found.family in {socket.AF_INET, socket.AF_INET6} and found.type == socket.SOCK_STREAM:
                yield found
            else:
                found.close()


def _close(connection: socket.socket) -> bool:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
        return True
    return False
