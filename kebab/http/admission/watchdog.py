"""A watchdog thread of a web process, for its fair queues and its clients' connections.

A request that hangs holds its slot. When all slots of a caller or of the process are held that way, the
process is not ready; if that lasts, it exits and its parent starts another.
"""

import logging
import os
import threading
from collections.abc import Callable, Mapping
from typing import Final

from kebab.exit_codes import Exit
from kebab.http.admission.connections import ConnectionGuard
from kebab.http.admission.fair_queue import FairQueue
from kebab.observability.metrics.instruments import Gauge
from kebab.runtime.connection_limits import ENDED_S, STALLED_S

logger = logging.getLogger(__name__)

LENT = Gauge("kebab_turns_lent", "Number of slots in use by requests in a web process.", "kind")
STALLED = Gauge(
    "kebab_turns_stalled_seconds",
    "Time since a caller that holds all of its slots last released one, in seconds.",
    "kind",
)
_LOOK_S: Final = 1.0


class Watchdog:
    """Checks queues and connections once a second, from `start` to `stop`."""

    def __init__(
        self,
        turns: Mapping[str, FairQueue],
        guard: ConnectionGuard,
        *,
        end: Callable[[], None] = lambda: os._exit(Exit.UNHEALTHY),
    ) -> None:
        """Take the queues by their names in metrics and logs; `end` ends the process."""
        self._turns = turns
        self._guard = guard
        self._end = end
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    @property
    def is_stalled(self) -> bool:
        """Return whether some kind of request can no longer be answered here."""
        return any(each.stalled_s > STALLED_S for each in self._turns.values())

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread."""
        self._ended.set()
        self._thread.join()

    def check(self) -> None:
        """Check all queues and connections once."""
        for kind, turns in self._turns.items():
            LENT.set(turns.n_lent, kind)
            STALLED.set(turns.stalled_s, kind)
            if turns.stalled_s > ENDED_S:
                text = "No turn of %s has come back for %d s: this process ends, for another to be started"
                logger.critical(text, kind, turns.stalled_s)
                self._end()
        self._guard.close_excess()

    def _run(self) -> None:
        while not self._ended.wait(_LOOK_S):
            try:
                self.check()
            except Exception:  # the watchdog outlives any fault of one check
                logger.exception("turns and connections could not be checked")
