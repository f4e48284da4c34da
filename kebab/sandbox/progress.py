"""Progress reports of slow work, so that it is not taken for hung."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[], None] | None] = ContextVar("listener", default=None)


@contextmanager
def report_progress_to(listener: Callable[[], None]) -> Iterator[None]:
    """Call `listener` at each step that is reported inside the block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report_progress() -> None:
    """Report that a step of a long request is done, such as a page of a document."""
    listener = _listener.get()
    if listener is not None:
        listener()
