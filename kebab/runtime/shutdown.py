"""What a process still has to write before the servers that it writes to are gone.

The end of the interpreter is too late: by then a verb's own servers have stopped, and a web process that is
told to end has been ended by the signal.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_last_acts: list[Callable[[], None]] = []


def register(act: Callable[[], None]) -> None:
    """Have `act` done at the end of each verb and of each web process; it must not raise."""
    _last_acts.append(act)


def end() -> None:
    """Do all of it, in the order of registration."""
    for act in _last_acts:
        act()


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Do all of it when the block ends, however it does."""
    try:
        yield
    finally:
        end()
