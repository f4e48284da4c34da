"""The clock of a node jumps, that of its servers does not: libfaketime stands before its processes.

With each jump Redis loses its hints, so that only what runs again and again finds their jobs.
"""

import os
import random
import signal
import time
from pathlib import Path

from tests.drills.crash.siege.clock import now_s
from tests.drills.crash.siege.strikes import Strike, empty_redis
from tests.support.stack import Stack

#: Seconds that the node's clock is wrong by, by name.
JUMPS = {"clock an hour fast": 3600, "clock right": 0, "clock an hour slow": -3600, "clock right again": 0}
# The library looks at its file so often.
_NOTICED_S = 1
_LASTS_S = (6.0, 12.0)
# Within it most of the clients have asked for a job.
_STILL_S = 2.0
_PRELOAD = Path(__file__).with_name("preload")
_LIBRARIES = ("/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/local/lib/faketime/libfaketimeMT.so.1")


def library() -> Path | None:
    """Where libfaketime lies; None where it isn't installed (Debian: `faketime`)."""
    found = [path for pattern in _LIBRARIES for path in Path("/").glob(pattern.lstrip("/"))]
    return found[0] if found else None


class Clocks:
    """Strikes at the clock of the processes that have `environment`; `file` says by how much."""

    def __init__(self, file: Path, rng: random.Random) -> None:
        self._file = file
        self._rng = rng
        self._write(0)

    def environment(self, library: Path) -> dict[str, str]:
        """What the processes need; steady clocks and times of files stay right, as in a real jump."""
        return {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": str(_NOTICED_S),
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
            "PYTHONPATH": str(_PRELOAD),
        }

    def strike(self, name: str) -> Strike:
        """Have the clock jump, and stay there for a while."""
        self._write(JUMPS[name])
        time.sleep(_NOTICED_S)
        strike = Strike(name=name, at_s=now_s())
        time.sleep(self._rng.uniform(*_LASTS_S))
        return strike

    def _write(self, offset_s: int) -> None:
        draft = self._file.with_suffix(".draft")
        draft.write_text(f"{offset_s:+d}\n")
        draft.replace(self._file)


class Forgetting:
    """Strikes at the clock, and has Redis lose its hints: what runs again and again is to find their jobs."""

    def __init__(self, clocks: Clocks, node: Stack, servers: Stack) -> None:
        self._clocks = clocks
        self._node = node
        self._servers = servers

    def strike(self, name: str) -> Strike:
        """Have the clock jump, and the hints get lost that have come while the worker stood still."""
        strike = self._clocks.strike(name)
        worker = self._node.pids()["worker"]
        os.kill(worker, signal.SIGSTOP)
        try:
            time.sleep(_STILL_S)
            empty_redis(self._servers)
        finally:
            os.kill(worker, signal.SIGCONT)
        return strike
