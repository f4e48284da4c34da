"""Circuit breaker for endpoints that have failed several times in a row.

After M. T. Nygard, "Release It!", 2007: closed, open, and half-open for one trial.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from search.retrieval.errors import SearchError

FAILURES = 3
OPEN_S = 30.0


class CircuitBreaker:
    """A circuit breaker that opens after `failures` in a row for `open_s` seconds, then allows one trial.

    Threads may share it. A failed trial opens it again, a successful one closes it.
    """

    def __init__(
        self,
        name: str,
        refusal: Callable[[str], SearchError],
        *,
        failures: int = FAILURES,
        open_s: float = OPEN_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`name` starts the sentence of the error that `refusal` creates for an open breaker."""
        self._name = name
        self._refusal = refusal
        self._failures_allowed = failures
        self._open_s = open_s
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._last_reason = ""
        self._open_until: float | None = None
        self._has_trial = False

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Run the block as one attempt and count its outcome. Raises the error of `refusal` while open.

        An error whose `is_fault` is False counts as a success. An end by the caller, such as
        KeyboardInterrupt or GeneratorExit, says nothing about the endpoint and isn't counted.
        """
        self._admit()
        try:
            yield
        except SearchError as error:
            self._count(str(error) if getattr(error, "is_fault", True) else None)
            raise
        except Exception as error:
            self._count(f"it failed ({type(error).__name__})")
            raise
        except BaseException:
            with self._lock:
                self._has_trial = False
            raise
        self._count(None)

    def _admit(self) -> None:
        with self._lock:
            if self._open_until is None:
                return
            if self._has_trial or self._clock() < self._open_until:
                raise self._refusal(
                    f"{self._name} is left alone for {self._open_s:g} s after {self._failures} failures"
                    f" in a row; the last one: {self._last_reason}"
                )
            self._has_trial = True

    def _count(self, failure: str | None) -> None:
        with self._lock:
            self._has_trial = False
            if failure is None:
                self._failures, self._open_until = 0, None
                return
            self._failures += 1
            self._last_reason = failure
            if self._failures >= self._failures_allowed:
                self._open_until = self._clock() + self._open_s
