"""The circuit breaker of PostgreSQL connections in this process.

Without it, requests during a network failure would each wait for their own timeout, one after the other in
few threads. A lost connection is reported here; from then on all requests are refused at once, while a
thread tries to connect and closes the breaker on its first success. The circuit breaker of M. T. Nygard,
"Release It!", 2007, except that the trial connection is made by its own thread and not by a caller.
"""

import logging
import os
import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections

logger = logging.getLogger(__name__)

_PAUSE_S = 0.2
_SIGNS_OF_WAITING = ("timed out", "timeout")
_SIGNS_OF_LIFE = ("too many clients", "connection slots", "too many connections")
#: Timeouts of libpq, unless DATABASE_URL sets others: a broken network is detected within two seconds, while
#: sending and while waiting for an answer; a request that has done something else before is refused within
#: three.
CLIENT_TIMEOUTS: Mapping[str, Any] = {
    "connect_timeout": 3,
    "tcp_user_timeout": 1_000,
    "keepalives_idle": 1,
    "keepalives_interval": 1,
    "keepalives_count": 2,
}
#: Timeouts of PostgreSQL's end: locks of a disconnected client are released within seconds.
SERVER_TIMEOUTS = (
    " -c tcp_user_timeout=3000"
    " -c tcp_keepalives_idle=2 -c tcp_keepalives_interval=1 -c tcp_keepalives_count=2"
)


class DatabaseBreaker:
    """The circuit breaker of one database. It is thread-safe; a forked child starts with a closed one."""

    def __init__(
        self, connect: Callable[[], psycopg.Connection[Any]], *, on_return: Callable[[], None]
    ) -> None:
        """`connect` creates a trial connection; `on_return` is called once that succeeds again."""
        self._connect = connect
        self._on_return = on_return
        self._lock = threading.Lock()
        self._is_testing = False
        self._is_away = threading.Event()
        os.register_at_fork(after_in_child=self._reset)

    def refuse_while_away(self) -> None:
        """Raise OperationalError while PostgreSQL is known to be unreachable."""
        if self._is_away.is_set():
            raise psycopg.OperationalError("PostgreSQL could not be reached a moment ago.")

    def report_loss(self, reason: BaseException) -> None:
        """Test in a thread whether PostgreSQL is reachable, and refuse requests while it isn't.

        After a timeout requests are refused at once, which spares the others the same wait. After any other
        loss only once the test fails: that connection may have been the only one to break.
        """
        with self._lock:
            if self._is_testing:
                return
            self._is_testing = True
        if any(sign in str(reason) for sign in _SIGNS_OF_WAITING):
            self._open(reason)
        waiting = threading.Thread(
            target=self._probe_until_reachable, args=(reason,), name="postgres-presence", daemon=True
        )
        try:
            waiting.start()
        except RuntimeError:  # no thread can be started: the next loss tries again
            self._reset()

    def _open(self, reason: BaseException) -> None:
        if not self._is_away.is_set():
            self._is_away.set()
            logger.warning("PostgreSQL can't be reached: %s", reason)

    def _probe_until_reachable(self, reason: BaseException) -> None:
        pause = threading.Event()
        while not self._is_reachable():
            self._open(reason)
            pause.wait(_PAUSE_S)
        if self._is_away.is_set():
            logger.info("PostgreSQL can be reached")
        with self._lock:
            self._is_away.clear()
            self._is_testing = False
        self._on_return()

    def _is_reachable(self) -> bool:
        try:
            self._connect().close()
        except (psycopg.Error, OSError) as error:
            # It has too many connections; the existing ones still work.
            return any(sign in str(error) for sign in _SIGNS_OF_LIFE)
        return True

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._is_testing = False
        self._is_away.clear()


@cache
def database_breaker() -> DatabaseBreaker:
    """Return this process's circuit breaker of the application's database."""
    return DatabaseBreaker(_connect, on_return=_close_idle_connections)


def _connect() -> psycopg.Connection[Any]:
    parameters = connections[DEFAULT_DB_ALIAS].get_connection_params()
    del parameters["cursor_factory"], parameters["context"]
    return psycopg.Connection.connect(**parameters, autocommit=True)


def _close_idle_connections() -> None:
    """Close idle connections: those broken by an outage look sound until something is sent."""
    pool = getattr(connections[DEFAULT_DB_ALIAS], "pool", None)
    if pool is not None:
        pool.close_idle()
