"""Whether this process is about to stop: first it sends load balancers away, then it ends streams."""

import asyncio
import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

#: What the parent of web processes sends them to have them drain, and to have them end what would last.
DRAIN_SIGNAL, END_SIGNAL = signal.SIGUSR1, signal.SIGUSR2

_drains = threading.Event()
_ends = threading.Event()
# Who waits for the end, each in the loop that it runs in.
_waiting: set["asyncio.Future[None]"] = set()


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


def end_streams() -> None:
    """Have all end who wait for it in this loop: requests are finished, streams are not waited for."""
    _ends.set()
    for each in _waiting:
        if not each.done():
            each.set_result(None)


@contextlib.contextmanager
def streams_end() -> "Iterator[asyncio.Future[None]]":
    """Give a future that is done once streams are to end."""
    ending = asyncio.get_running_loop().create_future()
    _waiting.add(ending)
    if _ends.is_set():
        ending.set_result(None)
    try:
        yield ending
    finally:
        _waiting.discard(ending)


def _begin(number: int, frame: FrameType | None) -> None:
    begin()
