"""The deadline of a search, which all of its stages share."""

import time
from collections.abc import Callable
from contextvars import ContextVar
from math import inf
from types import TracebackType
from typing import Final

_deadline: ContextVar[float] = ContextVar("kebab_search_deadline", default=inf)

#: Returns when the search has to end, by `time.monotonic`; infinity without a limit.
deadline: Final[Callable[[], float]] = _deadline.get


class limit_time:
    """A context manager that limits the time of searches; an earlier deadline around it stays."""

    __slots__ = ("_limit_s", "_token")

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s

    def __enter__(self) -> None:
        end, outer = time.monotonic() + self._limit_s, deadline()
        self._token = _deadline.set(end if end < outer else outer)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _deadline.reset(self._token)


def seconds_left() -> float:
    """Return the time until the deadline, 0 after it."""
    return max(0.0, deadline() - time.monotonic())


def is_over() -> bool:
    """Return whether the time is up."""
    return time.monotonic() >= deadline()
