"""Counts of Python's work: lines run in our packages, bytes allocated in all, and the most at once.

tracemalloc knows what is alive, not what came and went: a list that is copied a thousand times would pass.
So its peak is read, and set back, at each line: what a line allocates is counted even if it is gone with the
next one.
"""

import gc
import sys
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import kebab

_ROOT = Path(kebab.__path__[0]).parent
# And what a test plants in them.
_FOLLOWED = tuple(
    str(_ROOT / part) for part in ("ingest", "kebab", "search", "tests/drills/regression/planted.py")
)


class PythonWork:
    """Counts of one block, by name; complete when it has ended."""

    def __init__(self) -> None:
        self.figures: dict[str, int] = {}
        self._lines = 0
        self._allocated = 0
        self._most = 0
        self._last = 0

    def begin(self) -> None:
        """Count from nought."""
        tracemalloc.reset_peak()
        self._last, _ = tracemalloc.get_traced_memory()
        self._most = self._last
        self.figures["bytes at most"] = self._last

    def end(self) -> None:
        """Fill in the figures."""
        self._look()
        at_first = self.figures["bytes at most"]
        self.figures = {
            "lines run": self._lines,
            "bytes allocated": self._allocated,
            "bytes at most": self._most - at_first,
        }

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Follow calls into our packages: what `sys.settrace` takes."""
        return self._trace_lines if frame.f_code.co_filename.startswith(_FOLLOWED) else None

    def _trace_lines(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self._lines += 1
            self._look()
        return self._trace_lines

    def _look(self) -> None:
        now, peak = tracemalloc.get_traced_memory()
        self._allocated += peak - self._last
        self._most = max(self._most, peak)
        tracemalloc.reset_peak()
        self._last = now


@contextmanager
def python_work() -> Iterator[PythonWork]:
    """Count what the block does in this thread; memory is that of all threads."""
    work, tracer = PythonWork(), sys.gettrace()
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        work.begin()
        sys.settrace(work.trace)
        try:
            yield work
        finally:
            sys.settrace(tracer)
            work.end()
    finally:
        tracemalloc.stop()
        gc.enable()


class InCallingThread(Executor):
    """Runs what it is given at once, so that it is counted, and in the same order each time."""

    def submit(self, function: Any, /, *given: Any, **named: Any) -> "Future[Any]":
        """Run it and give its result."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*given, **named))
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            future.set_exception(error)
        return future
