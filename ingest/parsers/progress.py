"""How a parser that takes long tells that it goes on, so that it is not taken for one that hangs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[], None] | None] = ContextVar("listener", default=None)


@contextmanager
def progress_told_to(listener: Callable[[], None]) -> Iterator[None]:
    """Within it, `listener` is called at each step that a parser reports."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report_progress() -> None:
    """Tells that a step of a long document is done: a page that was read."""
    listener = _listener.get()
    if listener is not None:
        listener()
