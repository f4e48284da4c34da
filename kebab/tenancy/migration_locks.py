"""Migrations next to the running system: short lock timeouts, and retries."""

import time
from collections.abc import Callable

from django.db import OperationalError
from psycopg.errors import LockNotAvailable

#: A statement that waits for a table lock blocks all later ones; searches have a limit of two seconds.
LOCK_LIMIT_MS = 1_000
_PATIENCE_S = 600.0
_PAUSE_S = 2.0


def retry_on_lock_timeout(
    migrate: Callable[[], object], report: Callable[[str], object], *, patience_s: float = _PATIENCE_S
) -> None:
    """Call `migrate` until it gets its locks. Raises OperationalError if it doesn't within ten minutes.

    Each migration is a transaction: those before the one that got no lock stay applied.
    """
    deadline = time.monotonic() + patience_s
    while True:
        try:
            migrate()
            return
        except OperationalError as error:
            if not isinstance(error.__cause__, LockNotAvailable) or time.monotonic() > deadline:
                raise
            report(f"A table is in use; the migration comes again in {_PAUSE_S:g} s.")
            time.sleep(_PAUSE_S)
