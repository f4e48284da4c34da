"""A watchdog thread of a web process, for its fair queues and its clients' connections.

A request that hangs holds its slot. When all slots of a caller or of the process are held that way, the
process is not ready; if that lasts, it exits and its parent starts another.
"""

import logging
import os
import socket
import stat
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

from kebab.exit_codes import Exit
from kebab.http.admission.fair_queue import FairQueue
from kebab.http.rate_limits.client_address import is_trusted, network_of, parse_address
from kebab.observability.metrics.instruments import Gauge
from kebab.runtime.connection_limits import CONNECTIONS_OF_ADDRESS, ENDED_S, SEND_TIMEOUT_S, STALLED_S

Peer = tuple[str, int]

# Linux closes a connection whose peer acknowledges nothing for so long; see tcp(7).
_USER_TIMEOUT: Final = getattr(socket, "TCP_USER_TIMEOUT", None)


class ConnectionGuard:
    """Closes connections above the limits, in one pass over the process's sockets."""

    def __init__(self, under_way: Collection[Peer]) -> None:
        """Take the peers whose requests are being answered, which are closed last."""
        self._under_way = under_way
        self._abandoned: set[Peer] = set()

    def abandon(self, peer: Peer) -> None:
        """Close the connection to a client in the next pass; may be called in any thread."""
        self._abandoned.add(peer)

    def close_excess(self) -> int:
        """Pass over all connections; return how many were closed."""
        abandoned = {self._abandoned.pop() for _ in range(len(self._abandoned))}
        with _accepted_connections() as connections:
            closing = abandoned | self._excess_peers(connections)
            return sum(_close(connection) for peer, connection in connections.items() if peer in closing)

    def _excess_peers(self, connections: Collection[Peer]) -> set[Peer]:
        """Return the peers above the limit of their addresses."""
        by_network: dict[str, list[Peer]] = defaultdict(list)
        for peer in connections:
            address = parse_address(peer[0])
            if address is not None and not is_trusted(address):
                by_network[network_of(address)].append(peer)
        crowds = [peers for peers in by_network.values() if len(peers) > CONNECTIONS_OF_ADDRESS]
        under_way = set(self._under_way) if crowds else set()
        ordered = (sorted(peers, key=under_way.__contains__) for peers in crowds)
        return {peer for peers in ordered for peer in peers[: len(peers) - CONNECTIONS_OF_ADDRESS]}


@contextmanager
def _accepted_connections() -> Iterator[dict[Peer, socket.socket]]:
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
                        each.setsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT, SEND_TIMEOUT_S * 1000)
        yield found


def _tcp_sockets() -> Iterator[socket.socket]:
    """Yield duplicates of the process's TCP sockets."""
    for name in os.listdir("/dev/fd"):  # noqa: PTH208  # faster for thousands of names
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


logger = logging.getLogger(__name__)

LENT = Gauge("kebab_turns_lent", "Number of slots in use by requests in a web process.", "kind")
STALLED = Gauge(
    "kebab_turns_stalled_seconds",
    "Time since a caller that holds all of its slots last released one, in seconds.",
    "kind",
)
_LOOK_S: Final = 1.0


class Watchdog:
    """Checks queues and connections once a second, from `start` to `stop`."""

    def __init__(
        self,
        turns: Mapping[str, FairQueue],
        guard: ConnectionGuard,
        *,
        end: Callable[[], None] = lambda: os._exit(Exit.UNHEALTHY),
    ) -> None:
        """Take the queues by their names in metrics and logs; `end` ends the process."""
        self._turns = turns
        self._guard = guard
        self._end = end
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    @property
    def is_stalled(self) -> bool:
        """Return whether some kind of request can no longer be answered here."""
        return any(each.stalled_s > STALLED_S for each in self._turns.values())

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread."""
        self._ended.set()
        self._thread.join()

    def check(self) -> None:
        """Check all queues and connections once."""
        for kind, turns in self._turns.items():
            LENT.set(turns.n_lent, kind)
            STALLED.set(turns.stalled_s, kind)
            if turns.stalled_s > ENDED_S:
                text = "No turn of %s has come back for %d s: this process ends, for another to be started"
                logger.critical(text, kind, turns.stalled_s)
                self._end()
        self._guard.close_excess()

    def _run(self) -> None:
        while not self._ended.wait(_LOOK_S):
            try:
                self.check()
            except Exception:  # the watchdog outlives any fault of one check
                logger.exception("turns and connections could not be checked")
