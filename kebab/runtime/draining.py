"""The shutdown of a web process: it fails readiness checks first, and ends lasting streams later."""

import asyncio
import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

#: The parent sends these to its web processes: to drain, and to end lasting streams.
DRAIN_SIGNAL, END_SIGNAL = signal.SIGUSR1, signal.SIGUSR2

_drains = threading.Event()
_ends = threading.Event()
# One future for each lasting stream.
_waiting: set["asyncio.Future[None]"] = set()


def begin() -> None:
    """From now on this process is not ready for more."""
    _drains.set()


def is_draining() -> bool:
    """Return whether it has begun."""
    return _drains.is_set()


def begin_on_signal() -> None:
    """Begin when the parent says so; only the main thread may ask for it."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(DRAIN_SIGNAL, _begin)


def end_streams() -> None:
    """Resolve the futures of `streams_end`; call it in their event loop."""
    _ends.set()
    for each in _waiting:
        if not each.done():
            each.set_result(None)


@contextlib.contextmanager
def streams_end() -> "Iterator[asyncio.Future[None]]":
    """Yield a future that is done once lasting streams are to end."""
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
