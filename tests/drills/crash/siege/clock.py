"""Seconds since the start of the drill, shared by all threads and independent of the machine's clock."""

import time

_BEGAN_S = time.monotonic()


def now_s() -> float:
    """Return the seconds since this module was loaded."""
    return time.monotonic() - _BEGAN_S
