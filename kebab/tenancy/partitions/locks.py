"""Table locks with short timeouts and retries, so that nobody queues behind them for long."""

import time
from collections.abc import Callable, Sequence

from psycopg import Connection, errors, sql

_REFUSED = (errors.LockNotAvailable, errors.DeadlockDetected)


class TablesBusy(Exception):
    """The tables could not be locked in time: long transactions hold them; end those, or try again."""


def lock_tables(
    connection: Connection, tables: Sequence[str], mode: str, *, wait_ms: int, limit_s: float
) -> None:
    """Lock tables together, in attempts of `wait_ms` with pauses of the same length. Raises TablesBusy."""
    names = sql.SQL(", ").join(sql.Identifier(*name.split(".")) for name in tables)
    locking = sql.SQL("LOCK TABLE {} IN {} MODE").format(names, sql.SQL(mode))
    retry_with_locks(connection, lambda: connection.execute(locking), wait_ms=wait_ms, limit_s=limit_s)


def retry_with_locks(
    connection: Connection, step: Callable[[], object], *, wait_ms: int, limit_s: float
) -> None:
    """Retry a step of a transaction until it gets its locks. Raises TablesBusy after `limit_s`."""
    deadline = time.monotonic() + limit_s
    while True:
        try:
            with connection.transaction():
                connection.execute(sql.SQL("SET LOCAL lock_timeout = {}").format(sql.Literal(f"{wait_ms}ms")))
                step()
            return
        except _REFUSED as error:
            if time.monotonic() > deadline:
                raise TablesBusy(
                    f"The tables could not be locked within {limit_s:g} s: {error}. Nothing was changed;"
                    " end long transactions, or try again when less is written."
                ) from error
            time.sleep(wait_ms / 1000)
