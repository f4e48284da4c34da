"""The stop request of a worker, shared with its children, which do the work.

Only the parent gets the signal, and Celery makes it wait for its children however long they work. The request
is stored in memory shared with the forked children.
"""

import mmap
import time
from typing import Final

#: Seconds after which work that another worker can't resume is aborted. Supervisors kill a worker after 30
#: seconds or more.
GRACE_S: Final = 20.0

# By the monotonic clock, which parent and children share; 0 without a request. Eight bytes, so that one write
# sets it.
_requested_at = memoryview(mmap.mmap(-1, 8)).cast("d")


def request() -> None:
    """Request the stop; signal-safe and idempotent."""
    if not is_requested():
        _requested_at[0] = time.monotonic()


def is_requested() -> bool:
    """Return whether work is to be requeued for another worker wherever that costs nothing."""
    return _requested_at[0] > 0


def is_urgent() -> bool:
    """Return whether work is to be aborted at any point."""
    return is_requested() and time.monotonic() > _requested_at[0] + GRACE_S
