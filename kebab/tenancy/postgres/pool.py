"""The connections to PostgreSQL that a process keeps between its requests.

Who finds none idle connects in its own thread, and so waits for one connection, however many others want one:
psycopg_pool makes them one after the other, which over a slow line takes longer than a request may. How many
there are is bounded by the process's threads, each of which holds at most one.
"""

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from psycopg import Connection
from psycopg.pq import ConnStatus, TransactionStatus

# What a backend has learned of tables and statements grows with its age.
_LIFETIME_S = 3600.0


class KeptConnection(Connection[Any]):
    """A connection that knows its age; by `time.monotonic`."""

    made_s: float
    idle_since_s: float


@dataclass(frozen=True, slots=True)
class Use:
    """How many connections there are of each kind, and how long threads have connected, all together."""

    idle: int
    in_use: int
    connecting: int
    connected_for_s: float


class KeptConnections:
    """Lends connections to threads; Django opens it, takes from it, gives back and closes it as a pool."""

    def __init__(
        self,
        parameters: Mapping[str, Any],
        configure: Callable[[KeptConnection], object],
        *,
        idle_limit_s: float,
    ) -> None:
        """`configure` is called with each new connection; one that is idle beyond the limit is closed."""
        self._parameters = dict(parameters)
        self._configure = configure
        self._idle_limit_s = idle_limit_s
        self.begin_anew()
        _ALL.add(self)

    def begin_anew(self) -> None:
        """Keep nothing, and close nothing: what a parent process keeps is the parent's."""
        self._lock = threading.Lock()
        self._idle: deque[KeptConnection] = deque()  # those used last to the right
        self._in_use = self._connecting = 0
        self._connected_for_s = 0.0
        self._is_closed = False

    def open(self) -> None:
        """Nothing has to be started."""

    def close(self) -> None:
        """Close what is idle, and from now on whatever comes back."""
        self._is_closed = True
        self.close_idle()

    def getconn(self) -> KeptConnection:
        """Lend the connection that was used last, if it is sound, or a new one. Raises OperationalError."""
        connection = self._take() or self._connect()
        # Where Django gives it back to.
        connection._pool = self  # type: ignore[assignment]
        return connection

    def putconn(self, connection: KeptConnection) -> None:
        """Take a connection back, to be lent again unless it is old, broken or in a transaction."""
        now_s = time.monotonic()
        is_at_rest = connection.pgconn.transaction_status == TransactionStatus.IDLE
        connection.idle_since_s = now_s
        with self._lock:
            self._in_use -= 1
            stale = self._stale(now_s)
            if is_at_rest and not self._is_closed and now_s - connection.made_s < _LIFETIME_S:
                self._idle.append(connection)
            else:
                stale.append(connection)
        for each in stale:
            each.close()

    def close_idle(self) -> None:
        """Let go of all that is not lent, as after an outage, when half of a connection may be gone."""
        with self._lock:
            idle = list(self._idle)
            self._idle.clear()
        for each in idle:
            each.close()

    def use(self) -> Use:
        """Count."""
        with self._lock:
            return Use(len(self._idle), self._in_use, self._connecting, self._connected_for_s)

    def _stale(self, now_s: float) -> list[KeptConnection]:
        stale = []
        while self._idle and now_s - self._idle[0].idle_since_s > self._idle_limit_s:
            stale.append(self._idle.popleft())
        return stale

    def _take(self) -> KeptConnection | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
                self._in_use += 1
            if is_sound(connection):
                return connection
            self._lose(connection)

    def _lose(self, connection: KeptConnection) -> None:
        with self._lock:
            self._in_use -= 1
        connection.close()

    def _connect(self) -> KeptConnection:
        with self._counted():
            connection = KeptConnection.connect(**self._parameters, autocommit=True)
            try:
                self._configure(connection)
            except BaseException:
                connection.close()
                raise
        connection.made_s = time.monotonic()
        with self._lock:
            self._in_use += 1
        return connection

    @contextmanager
    def _counted(self) -> Iterator[None]:
        began_s = time.monotonic()
        with self._lock:
            self._connecting += 1
        try:
            yield
        finally:
            with self._lock:
                self._connecting -= 1
                self._connected_for_s += time.monotonic() - began_s


def is_sound(connection: Connection[Any]) -> bool:
    """Return whether the other end has said nothing on an idle connection, as far as the kernel knows: 5 µs.

    Whatever it says there it says before it closes it, but for notices, which are rare.
    """
    if connection.pgconn.status != ConnStatus.OK:
        return False
    poll = select.poll()
    poll.register(connection.pgconn.socket, select.POLLIN)
    return not poll.poll(0)


def _begin_anew_in_child() -> None:
    for each in _ALL:
        each.begin_anew()


_ALL: WeakSet[KeptConnections] = WeakSet()
os.register_at_fork(after_in_child=_begin_anew_in_child)
