"""Leaving alone for a while what has failed several times in a row.

The circuit breaker of M. T. Nygard, "Release It!", 2007: closed, open, and half-open for one trial.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from search.retrieval.errors import SearchError

FAILURES = 3
REST_S = 30.0


class Breaker:
    """Counts failures in a row; after `failures` it refuses for `rest_s` seconds, then lets one try.

    Threads may share it. A trial that fails begins the rest anew, one that succeeds ends it.
    """

    def __init__(
        self,
        name: str,
        refusal: Callable[[str], SearchError],
        *,
        failures: int = FAILURES,
        rest_s: float = REST_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`name` is what is left alone, as a sentence begins; `refusal` makes the error that says so."""
        self._name = name
        self._refusal = refusal
        self._failures_allowed = failures
        self._rest_s = rest_s
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._last_reason = ""
        self._rests_until: float | None = None
        self._is_tried = False

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Let what is inside be tried, and count how it ends. Raises what `refusal` makes while it rests.

        An error whose `is_fault` is False shows that what was tried is well.
        """
        self._admit()
        try:
            yield
        except SearchError as error:
            self._count(str(error) if getattr(error, "is_fault", True) else None)
            raise
        except BaseException as error:
            self._count(f"it failed ({type(error).__name__})")
            raise
        self._count(None)

    def _admit(self) -> None:
        with self._lock:
            if self._rests_until is None:
                return
            if self._is_tried or self._clock() < self._rests_until:
                raise self._refusal(
                    f"{self._name} is left alone for {self._rest_s:g} s after {self._failures} failures"
                    f" in a row; the last one: {self._last_reason}"
                )
            self._is_tried = True

    def _count(self, failure: str | None) -> None:
        with self._lock:
            self._is_tried = False
            if failure is None:
                self._failures, self._rests_until = 0, None
                return
            self._failures += 1
            self._last_reason = failure
            if self._failures >= self._failures_allowed:
                self._rests_until = self._clock() + self._rest_s
