"""Restart of `kebab up` after it was killed, and record of recovery times."""

import threading
from collections.abc import Callable

from tests.drills.crash.siege.clock import now_s
from tests.drills.crash.siege.outages import Outages
from tests.drills.crash.siege.strikes import Strike
from tests.support.stack import Stack

_PERIOD_S = 0.1


class Keeper:
    """A thread beside the siege; `last_success_s` returns the start of the last complete write."""

    def __init__(self, stack: Stack, outages: Outages, last_success_s: Callable[[], float]) -> None:
        self._stack = stack
        self._outages = outages
        self._last_success_s = last_success_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="keeper", daemon=True)
        self.strikes: list[Strike] = []
        self.restarts = 0

    def __enter__(self) -> "Keeper":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def all_is_well(self) -> bool:
        """Return whether the stack has recovered from every fault, and no store is away."""
        return self._outages.are_over() and all(strike.is_survived for strike in self.strikes)

    def _run(self) -> None:
        while not self._stop.wait(_PERIOD_S):
            if self._stack.is_ended:
                self._stack.spawn()
                self.restarts += 1
            self._stack.note_processes()
            pids = self._stack.pids()
            for strike in [each for each in self.strikes if not each.is_survived]:
                self._record_recovery(strike, pids)

    def _record_recovery(self, strike: Strike, pids: dict[str, int]) -> None:
        if strike.back_s is None and _is_replaced(strike, pids):
            strike.back_s = now_s() - strike.at_s
        if strike.works_s is None and self._last_success_s() > strike.at_s:
            strike.works_s = now_s() - strike.at_s


def _is_replaced(strike: Strike, pids: dict[str, int]) -> bool:
    return not strike.place or pids.get(strike.place, strike.pid) != strike.pid
