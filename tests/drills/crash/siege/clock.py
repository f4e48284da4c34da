"""Seconds since the drill began, the same for all its threads, whatever becomes of the machine's clock."""

import time

_BEGAN_S = time.monotonic()


def now_s() -> float:
    """Seconds since this module was loaded."""
    return time.monotonic() - _BEGAN_S
