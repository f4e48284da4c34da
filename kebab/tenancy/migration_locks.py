"""Migrations beside the running system: they wait for no lock for long, and come again."""

import time
from collections.abc import Callable

from django.db import OperationalError
from psycopg.errors import LockNotAvailable

#: A statement that waits for a table has all others wait behind it; searches have two seconds.
LOCK_LIMIT_MS = 1_000
_PATIENCE_S = 600.0
_PAUSE_S = 2.0


def tried_again(
    migrate: Callable[[], None], say: Callable[[str], object], *, patience_s: float = _PATIENCE_S
) -> None:
    """Call `migrate` until it gets its locks. Raises OperationalError when it gets none for ten minutes.

    Each migration is a transaction: what was done before the one that got no lock stays done.
    """
    deadline = time.monotonic() + patience_s
    while True:
        try:
            migrate()
            return
        except OperationalError as error:
            if not isinstance(error.__cause__, LockNotAvailable) or time.monotonic() > deadline:
                raise
            say(f"A table is in use; the migration comes again in {_PAUSE_S:g} s.")
            time.sleep(_PAUSE_S)
