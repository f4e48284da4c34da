"""Whether PostgreSQL can be reached from this process, as the last who asked it found.

Without it each request behind a cut line would wait for its own time-out, one after the other in few threads.
Who loses a connection says so; from then on all are refused at once, while a thread of its own tries to
connect and ends the refusals with its first success. The circuit breaker of M. T. Nygard, "Release It!",
2007, whose trial is no caller's.
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
#: What libpq is told where a network is between us and PostgreSQL, unless DATABASE_URL says otherwise: a line
#: that is cut is found out within two seconds, while something is sent and while an answer is awaited: a
#: request that has done something else before is refused within three.
LINE: Mapping[str, Any] = {
    "connect_timeout": 3,
    "tcp_user_timeout": 1_000,
    "keepalives_idle": 1,
    "keepalives_interval": 1,
    "keepalives_count": 2,
}
#: What PostgreSQL is told of its end of the line: locks of a client that was cut off go within seconds.
SERVER_LINE = (
    " -c tcp_user_timeout=3000"
    " -c tcp_keepalives_idle=2 -c tcp_keepalives_interval=1 -c tcp_keepalives_count=2"
)


class Presence:
    """What this process knows. Threads may share it; a forked child begins anew."""

    def __init__(
        self, connect: Callable[[], psycopg.Connection[Any]], *, on_return: Callable[[], None]
    ) -> None:
        """`connect` makes a connection that nobody else uses; `on_return` is called when it could again."""
        self._connect = connect
        self._on_return = on_return
        self._lock = threading.Lock()
        self._is_doubted = False
        self._is_away = threading.Event()
        os.register_at_fork(after_in_child=self._forget)

    def refuse_while_away(self) -> None:
        """Raises OperationalError while PostgreSQL is known to be away."""
        if self._is_away.is_set():
            raise psycopg.OperationalError("PostgreSQL could not be reached a moment ago.")

    def note_loss(self, reason: BaseException) -> None:
        """Find out whether it is away, and refuse until it can be reached.

        A connection that ends at once may have been the only one to end, and the next comes as soon; who has
        waited in vain spares the others that.
        """
        with self._lock:
            if self._is_doubted:
                return
            self._is_doubted = True
        if any(sign in str(reason) for sign in _SIGNS_OF_WAITING):
            self._refuse(reason)
        waiting = threading.Thread(
            target=self._await_return, args=(reason,), name="postgres-presence", daemon=True
        )
        try:
            waiting.start()
        except RuntimeError:  # there is no room for another thread: the next to lose one tries again
            self._forget()

    def _refuse(self, reason: BaseException) -> None:
        if not self._is_away.is_set():
            self._is_away.set()
            logger.warning("PostgreSQL can't be reached: %s", reason)

    def _await_return(self, reason: BaseException) -> None:
        pause = threading.Event()
        while not self._answers():
            self._refuse(reason)
            pause.wait(_PAUSE_S)
        if self._is_away.is_set():
            logger.info("PostgreSQL can be reached")
        with self._lock:
            self._is_away.clear()
            self._is_doubted = False
        self._on_return()

    def _answers(self) -> bool:
        try:
            self._connect().close()
        except (psycopg.Error, OSError) as error:
            # It has no room for one connection more: those that there are serve on.
            return any(sign in str(error) for sign in _SIGNS_OF_LIFE)
        return True

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._is_doubted = False
        self._is_away.clear()


@cache
def presence() -> Presence:
    """Return what this process knows of the application's database."""
    return Presence(_connect, on_return=_let_go)


def _connect() -> psycopg.Connection[Any]:
    parameters = connections[DEFAULT_DB_ALIAS].get_connection_params()
    del parameters["cursor_factory"], parameters["context"]
    return psycopg.Connection.connect(**parameters, autocommit=True)


def _let_go() -> None:
    """Close idle connections: those that an outage has broken look sound until something is sent."""
    kept = getattr(connections[DEFAULT_DB_ALIAS], "pool", None)
    if kept is not None:
        kept.close_idle()
