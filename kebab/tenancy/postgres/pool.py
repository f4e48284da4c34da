"""The connection pool of a process.

A thread that finds no idle connection connects itself, and so waits for one connection, however many threads
need one: psycopg_pool creates them one after the other, which over a slow network takes longer than a request
may. The number is bounded by the process's threads, each of which holds at most one.
"""

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakSet

import psycopg
from psycopg import Connection
from psycopg.errors import Diagnostic
from psycopg.pq import ConnStatus, TransactionStatus

# A backend's memory for caches of tables and statements grows with its age.
_LIFETIME_S = 3600.0


class PooledConnection(Connection[Any]):
    """A connection with its creation and idle times, by `time.monotonic`."""

    created_s: float
    idle_since_s: float
    #: Whether it is used while the primary is away.
    is_standby = False
    #: Whether the server gave up to wait for a standby, as after a timeout, and committed here alone.
    is_unconfirmed = False

    def note_unconfirmed(self, notice: Diagnostic) -> None:
        """Take the server's warning of that; its text depends on the server's language."""
        if notice.source_function == "SyncRepWaitForLSN":
            self.is_unconfirmed = True


@dataclass(frozen=True, slots=True)
class PoolUsage:
    """The numbers of connections by state, and the total time that threads have spent connecting."""

    idle: int
    in_use: int
    connecting: int
    connected_for_s: float


class PostgresPool:
    """A connection pool with the interface that Django uses of psycopg_pool."""

    connection_class = PooledConnection

    def __init__(
        self,
        parameters: Mapping[str, Any],
        configure: Callable[[PooledConnection], object],
        *,
        idle_limit_s: float,
    ) -> None:
        """`configure` is called with each new connection; those idle longer than the limit are closed."""
        self._parameters = dict(parameters)
        self._configure = configure
        self._idle_limit_s = idle_limit_s
        self.reset()
        _ALL.add(self)

    def reset(self) -> None:
        """Forget all connections without closing them: in a forked child they are the parent's."""
        self._lock = threading.Lock()
        self._idle: deque[PooledConnection] = deque()  # most recently used to the right
        self._in_use = self._connecting = 0
        self._connected_for_s = 0.0
        self._is_closed = False

    def open(self) -> None:
        """Do nothing: there is nothing to start."""

    def close(self) -> None:
        """Close idle connections, and from now on every returned one."""
        self._is_closed = True
        self.close_idle()

    def getconn(self) -> PooledConnection:
        """Return the most recently used working connection, or a new one. Raises OperationalError."""
        connection = self._take() or self._connect()
        # Django returns it to this pool.
        connection._pool = self  # type: ignore[assignment]  # with what Django uses of its interface
        return connection

    def putconn(self, connection: PooledConnection) -> None:
        """Take a connection back, to be reused unless it is old, broken or in a transaction."""
        now_s = time.monotonic()
        is_at_rest = connection.pgconn.transaction_status == TransactionStatus.IDLE
        connection.idle_since_s = now_s
        with self._lock:
            self._in_use -= 1
            stale = self._pop_stale(now_s)
            if is_at_rest and not self._is_closed and now_s - connection.created_s < _LIFETIME_S:
                self._idle.append(connection)
            else:
                stale.append(connection)
        for each in stale:
            each.close()

    def close_idle(self) -> None:
        """Close all idle connections, as after an outage, when they may be half-open."""
        with self._lock:
            idle = list(self._idle)
            self._idle.clear()
        for each in idle:
            each.close()

    def usage(self) -> PoolUsage:
        """Return the current usage."""
        with self._lock:
            return PoolUsage(len(self._idle), self._in_use, self._connecting, self._connected_for_s)

    def _pop_stale(self, now_s: float) -> list[PooledConnection]:
        stale = []
        while self._idle and now_s - self._idle[0].idle_since_s > self._idle_limit_s:
            stale.append(self._idle.popleft())
        return stale

    def _take(self) -> PooledConnection | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
                self._in_use += 1
            if is_sound(connection):
                return connection
            self._discard(connection)

    def _discard(self, connection: PooledConnection) -> None:
        with self._lock:
            self._in_use -= 1
        connection.close()

    def _connect(self) -> PooledConnection:
        with self._count_connecting():
            connection = self.connection_class.connect(**self._parameters, autocommit=True)
            try:
                self._configure(connection)
            except BaseException:
                connection.close()
                raise
        connection.add_notice_handler(connection.note_unconfirmed)
        connection.created_s = time.monotonic()
        with self._lock:
            self._in_use += 1
        return connection

    @contextmanager
    def _count_connecting(self) -> Iterator[None]:
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
    """Return whether an idle connection has received nothing, as far as the kernel knows; takes 5 µs.

    The server sends something before it closes a connection; otherwise only notices, which are rare.
    """
    if connection.pgconn.status != ConnStatus.OK:
        return False
    poll = select.poll()
    poll.register(connection.pgconn.socket, select.POLLIN)
    return not poll.poll(0)


def _reset_in_child() -> None:
    for each in _ALL:
        each.reset()


_ALL: WeakSet[PostgresPool] = WeakSet()
os.register_at_fork(after_in_child=_reset_in_child)


# Options of Django and our limits for requests; the rest (sslmode, …) is libpq's.
_DJANGO_OPTIONS: Final = frozenset(
    {"assume_role", "isolation_level", "options", "pool", "server_side_binding"}
)


def connect(database: Mapping[str, Any], **options: Any) -> psycopg.Connection:
    """Open a connection outside Django's pool and without its time limits, with autocommit."""
    given = {name: value for name, value in database["OPTIONS"].items() if name not in _DJANGO_OPTIONS}
    return psycopg.connect(
        host=database["HOST"],
        port=database["PORT"] or None,
        user=database["USER"],
        password=database["PASSWORD"] or None,
        dbname=database["NAME"],
        autocommit=True,
        **{**given, **options},
    )
