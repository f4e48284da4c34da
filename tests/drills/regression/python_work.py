"""Counts of Python's work: lines run in our packages, allocated bytes, and their peak.

tracemalloc knows live objects only: a list that is copied a thousand times would go unnoticed. So its peak is
read and reset at each line, which counts the allocations of a line even when they are freed by the next one.
"""

import gc
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import kebab

_ROOT = Path(kebab.__path__[0]).parent
# Includes the code that tests plant.
_FOLLOWED = tuple(
    str(_ROOT / part) for part in ("ingest", "kebab", "search", "tests/drills/regression/regressions.py")
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
        """Reset the counts."""
        tracemalloc.reset_peak()
        self._last, _ = tracemalloc.get_traced_memory()
        self._most = self._last
        self.figures["bytes at most"] = self._last

    def end(self) -> None:
        """Store the figures."""
        self._record_memory()
        at_first = self.figures["bytes at most"]
        self.figures = {
            "lines run": self._lines,
            "bytes allocated": self._allocated,
            "bytes at most": self._most - at_first,
        }

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Trace calls into our packages, for `sys.settrace`."""
        return self._trace_lines if frame.f_code.co_filename.startswith(_FOLLOWED) else None

    def _trace_lines(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self._lines += 1
            self._record_memory()
        return self._trace_lines

    def _record_memory(self) -> None:
        now, peak = tracemalloc.get_traced_memory()
        self._allocated += peak - self._last
        self._most = max(self._most, peak)
        tracemalloc.reset_peak()
        self._last = now


@contextmanager
def python_work() -> Iterator[PythonWork]:
    """Count the block's work in this thread, and the memory of all threads."""
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


def count_calls(operation: Callable[[], object]) -> int:
    """Return the calls of functions, built-in ones included, that `operation` makes in this thread."""
    count = 0

    def note(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        operation()
    finally:
        sys.setprofile(None)
    return count


def processor_ratio(operation: Callable[[], object]) -> float:
    """Return the processor time of `operation` as a multiple of that of a fixed piece of work, by turns.

    Of each the least of many runs counts, which other processes disturb least.
    """
    ours, fixed = [], []
    for _ in range(_RUNS):
        ours.append(_processor_s(operation))
        fixed.append(_processor_s(_do_fixed_work))
    return min(ours) / min(fixed)


_RUNS = 60


def _processor_s(operation: Callable[[], object]) -> float:
    started = time.process_time()
    operation()
    return time.process_time() - started


def _do_fixed_work() -> None:
    """Count the words of a text, sort them and write them as JSON, some milliseconds of plain Python."""
    words: dict[str, int] = {}
    for number in range(6_000):
        word = f"{number * 7919 % 1013:x}"
        words[word] = words.get(word, 0) + 1
    json.dumps(sorted(words.items(), key=lambda each: (-each[1], each[0])))


class InCallingThread(Executor):
    """Executor that runs each function at once in the calling thread, so that it is counted and ordered."""

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Run the function, and return its finished future."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            future.set_exception(error)
        return future
