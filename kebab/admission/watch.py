"""Looks after a web process once a second: at its clients' connections, and whether its turns come back.

A thread that never ends keeps its turn. Once all turns of a kind are kept so, the process tells that it isn't
ready, and later ends, for its parent to start another.
"""

import logging
import os
import threading
from collections.abc import Callable, Mapping
from typing import Final

from kebab.admission.connections import ConnectionGuard
from kebab.admission.limits import ENDED_S, STALLED_S
from kebab.admission.turns import Turns
from kebab.cli.errors import Exit
from kebab.metrics.instruments import Gauge

logger = logging.getLogger(__name__)

LENT = Gauge("kebab_turns_lent", "Turns that requests have in a web process now.", "kind")
STALLED = Gauge(
    "kebab_turns_stalled_seconds",
    "For how long somebody has had all turns of a kind that they may have, and gave none back.",
    "kind",
)
_LOOK_S: Final = 1.0


class Watch:
    """Looks in a thread of its own, from `start` to `stop`."""

    def __init__(
        self,
        turns: Mapping[str, Turns],
        guard: ConnectionGuard,
        *,
        end: Callable[[], None] = lambda: os._exit(Exit.UNHEALTHY),
    ) -> None:
        """`turns` are those of threads, by what is told of them; `end` ends the process."""
        self._turns = turns
        self._guard = guard
        self._end = end
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    @property
    def is_stalled(self) -> bool:
        """Whether the process can't answer some kind of requests, and ought to get none."""
        return any(each.stalled_s > STALLED_S for each in self._turns.values())

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Stop looking."""
        self._ended.set()
        self._thread.join()

    def look(self) -> None:
        """Look once."""
        for kind, turns in self._turns.items():
            LENT.set(turns.n_lent, kind)
            STALLED.set(turns.stalled_s, kind)
            if turns.stalled_s > ENDED_S:
                text = "No turn of %s has come back for %d s: this process ends, for another to be started"
                logger.critical(text, kind, turns.stalled_s)
                self._end()
        self._guard.look()

    def _run(self) -> None:
        while not self._ended.wait(_LOOK_S):
            try:
                self.look()
            except Exception:  # it must look again, whatever there was
                logger.exception("what a web process looks after could not be looked at")
