"""Interruption of the statements that an act waits for in Postgres, from another thread."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import psycopg

logger = logging.getLogger(__name__)

_TIMEOUT_S = 2.0

#: returns a connection at present, None while it is closed
OpenConnection = Callable[[], "psycopg.Connection | None"]


class Interruption:
    """The connections of one act; `interrupt` ends the statements that run on them."""

    def __init__(self) -> None:
        self._connections: list[OpenConnection] = []

    def add(self, connection: OpenConnection) -> None:
        """Add a connection of the act."""
        self._connections.append(connection)

    def remove(self, connection: OpenConnection) -> None:
        """Remove a connection before it is closed."""
        self._connections.remove(connection)

    @contextmanager
    def covers(self) -> Iterator[None]:
        """Let `interruptible` add connections during the block."""
        token = _present.set(self)
        try:
            yield
        finally:
            _present.reset(token)

    def interrupt(self) -> None:
        """End running statements with psycopg's QueryCanceled; idle connections don't notice."""
        for connection in self._connections.copy():
            open_connection = connection()
            if open_connection is not None:
                try:
                    open_connection.cancel_safe(timeout=_TIMEOUT_S)
                except psycopg.Error as error:  # it was closed meanwhile, or the server is away
                    logger.info("a statement was not interrupted: %s", error)


_present: ContextVar[Interruption | None] = ContextVar("interruption", default=None)


@contextmanager
def interruptible(connection: psycopg.Connection) -> Iterator[None]:
    """Let the present act's interruption, if any, end statements of the connection during the block."""

    def get() -> psycopg.Connection:
        return connection

    interruption = _present.get()
    if interruption is None:
        yield
        return
    interruption.add(get)
    try:
        yield
    finally:
        interruption.remove(get)
