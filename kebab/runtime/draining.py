"""Draining of a web process: it fails readiness checks first, and ends lasting streams later."""

import asyncio
import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

#: Signals that the parent sends to its web processes: to drain, and to end lasting streams.
DRAIN_SIGNAL, END_SIGNAL = signal.SIGUSR1, signal.SIGUSR2

_draining = threading.Event()
_streams_ending = threading.Event()
# A future for each lasting stream.
_stream_futures: set["asyncio.Future[None]"] = set()


def begin() -> None:
    """Begin draining: from now on the process is not ready for new requests."""
    _draining.set()


def is_draining() -> bool:
    """Return whether draining has begun."""
    return _draining.is_set()


def begin_on_signal() -> None:
    """Install the handler of the parent's drain signal, which only the main thread can do."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(DRAIN_SIGNAL, _handle_drain_signal)


def end_streams() -> None:
    """Resolve the futures of `stream_end_future`; call it in their event loop."""
    _streams_ending.set()
    for each in _stream_futures:
        if not each.done():
            each.set_result(None)


@contextlib.contextmanager
def stream_end_future() -> "Iterator[asyncio.Future[None]]":
    """Yield a future that is done once lasting streams have to end."""
    ending = asyncio.get_running_loop().create_future()
    _stream_futures.add(ending)
    if _streams_ending.is_set():
        ending.set_result(None)
    try:
        yield ending
    finally:
        _stream_futures.discard(ending)


def _handle_drain_signal(number: int, frame: FrameType | None) -> None:
    begin()
