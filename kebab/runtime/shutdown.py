"""Shutdown callbacks, which write buffered data before the servers that receive it have stopped.

`atexit` is too late: by then a command's own servers have stopped, and a web process that was told to end has
been ended by the signal.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_callbacks: list[Callable[[], None]] = []


def register_callback(callback: Callable[[], None]) -> None:
    """Register a callback to run at the end of each command and of each web process; it must not raise."""
    _callbacks.append(callback)


def run_callbacks() -> None:
    """Run all callbacks, in the order of registration."""
    for callback in _callbacks:
        callback()


@contextmanager
def run_callbacks_at_end() -> Iterator[None]:
    """Run all callbacks when the block ends, however it does."""
    try:
        yield
    finally:
        run_callbacks()
