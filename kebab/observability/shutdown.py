"""Shutdown callbacks, which write buffered data before the servers that receive it have stopped.

`atexit` is too late: by then a command's own servers have stopped, and a web process that was told to end has
been ended by the signal.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from kebab.contributions import contributions
from kebab.observability import tracing


def run_callbacks() -> None:
    """Run the callbacks of all apps, in their order, and send the last traces."""
    for callback in contributions("shutdown_callbacks"):
        callback()
    tracing.flush()


@contextmanager
def run_callbacks_at_end() -> Iterator[None]:
    """Run all callbacks when the block ends, however it does."""
    try:
        yield
    finally:
        run_callbacks()
