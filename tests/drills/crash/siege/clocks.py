"""Faults of a node's clock, which libfaketime shifts for its processes but not for its servers.

With each shift Redis loses its hints, so that only periodic tasks find their jobs.
"""

import os
import random
import signal
import time
from pathlib import Path

from tests.drills.crash.siege.clock import now_s
from tests.drills.crash.siege.strikes import Strike, empty_redis
from tests.support.stack import Stack

#: Offsets of the node's clock in seconds, by name.
JUMPS = {"clock an hour fast": 3600, "clock right": 0, "clock an hour slow": -3600, "clock right again": 0}
# Interval at which the library reads its file.
_NOTICED_S = 1
_LASTS_S = (6.0, 12.0)
# Time in which most clients have requested a job.
_STILL_S = 2.0
_PRELOAD = Path(__file__).with_name("preload")
_LIBRARIES = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/local/lib/faketime/libfaketimeMT.so.1")


def library() -> Path | None:
    """Return the path of libfaketime; None when it isn't installed (Debian: `faketime`)."""
    found = [path for pattern in _LIBRARIES for path in Path("/").glob(pattern.lstrip("/"))]
    return found[0] if found else None


class Clocks:
    """Faults of the clock of the processes that have `environment`; `file` has the offset."""

    def __init__(self, file: Path, rng: random.Random) -> None:
        self._file = file
        self._rng = rng
        self._write(0)

    def environment(self, library: Path) -> dict[str, str]:
        """Return the processes' environment; monotonic clocks and file times stay right, as in reality."""
        return {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": str(_NOTICED_S),
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
            "PYTHONPATH": str(_PRELOAD),
        }

    def strike(self, name: str) -> Strike:
        """Shift the clock, and leave it so for a while."""
        self._write(JUMPS[name])
        time.sleep(_NOTICED_S)
        strike = Strike(name=name, at_s=now_s())
        time.sleep(self._rng.uniform(*_LASTS_S))
        return strike

    def _write(self, offset_s: int) -> None:
        draft = self._file.with_suffix(".draft")
        draft.write_text(f"{offset_s:+d}\n")
        draft.replace(self._file)


class HintLoss:
    """Faults of the clock, each with a loss of Redis' hints, so that periodic tasks have to find the jobs."""

    def __init__(self, clocks: Clocks, node: Stack, servers: Stack) -> None:
        self._clocks = clocks
        self._node = node
        self._servers = servers

    def strike(self, name: str) -> Strike:
        """Shift the clock, and lose the hints that arrived while the worker was stopped."""
        strike = self._clocks.strike(name)
        worker = self._node.pids()["worker"]
        os.kill(worker, signal.SIGSTOP)
        try:
            time.sleep(_STILL_S)
            empty_redis(self._servers)
        finally:
            os.kill(worker, signal.SIGCONT)
        return strike
