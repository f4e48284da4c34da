"""Whether this process is about to stop: it serves on, and asks load balancers to send nobody any more."""

import signal
import threading
from types import FrameType

#: What the parent of web processes sends them to have them drain.
DRAIN_SIGNAL = signal.SIGUSR1

_drains = threading.Event()


def begin() -> None:
    """From now on this process is not ready for more."""
    _drains.set()


def is_draining() -> bool:
    """Whether it has begun."""
    return _drains.is_set()


def begin_on_signal() -> None:
    """Begin when the parent says so; only the main thread may ask for it."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(DRAIN_SIGNAL, _begin)


def _begin(number: int, frame: FrameType | None) -> None:
    begin()
