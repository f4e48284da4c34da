"""Whether this worker is asked to stop, which its children, who do the work, are to know as well.

Only the parent gets the signal, and Celery has it wait for its children however long they work. What it was
asked stands in memory that it shares with those it forks.
"""

import mmap
import time
from typing import Final

#: Seconds after which work that can't go on elsewhere from where it is gets broken off. Whoever supervises a
#: worker kills it after 30 seconds or more.
PATIENCE_S: Final = 20.0

# By the monotonic clock, which parent and children share; 0 before. Eight bytes, so that one write tells it.
_asked_at = memoryview(mmap.mmap(-1, 8)).cast("d")


def ask() -> None:
    """Ask for the stop; safe in a signal handler, and once is enough."""
    if not is_asked():
        _asked_at[0] = time.monotonic()


def is_asked() -> bool:
    """Return whether work is to be put back for another worker wherever that costs nothing."""
    return _asked_at[0] > 0


def is_urgent() -> bool:
    """Return whether it is to be broken off wherever it is."""
    return is_asked() and time.monotonic() > _asked_at[0] + PATIENCE_S
