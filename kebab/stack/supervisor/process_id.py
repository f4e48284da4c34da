"""Identity of a process that a reused pid is not mistaken for."""

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import psutil

_POLL_S = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIdentity:
    """A process by pid and start time (clock ticks since boot on Linux, else seconds since the epoch)."""

    pid: int
    born: float

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """Return the identity of a living process; None when it has ended."""
        born = _start_time(pid)
        return None if born is None else cls(pid=pid, born=born)

    @classmethod
    def own(cls) -> Self:
        """Return the identity of this process."""
        born = _start_time(os.getpid())
        assert born is not None, "this process lives"  # noqa: S101
        return cls(pid=os.getpid(), born=born)

    def is_alive(self) -> bool:
        """Return whether this very process still runs; a zombie does not."""
        return _start_time(self.pid) == self.born

    def wait(self, limit_s: float) -> bool:
        """Wait for the end of the process; return False if it still runs after the limit."""
        deadline = time.monotonic() + limit_s
        while self.is_alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def terminate(self, signals: tuple[int, ...], *, grace_s: float) -> None:
        """Send the signals in turn until the process has ended, with `grace_s` seconds after each."""
        for number in signals:
            if not self.is_alive():
                return
            psutil.Process(self.pid).send_signal(number)
            if self.wait(grace_s):
                return


def _start_time(pid: int) -> float | None:
    # psutil's create_time changes when the clock is set; the kernel's start time does not.
    if sys.platform == "linux":
        return _start_time_from_proc(pid)
    try:
        found = psutil.Process(pid)
        return None if found.status() == psutil.STATUS_ZOMBIE else found.create_time()
    except psutil.NoSuchProcess:
        return None


def _start_time_from_proc(pid: int) -> float | None:
    try:
        line = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # proc_pid_stat(5): the command may hold spaces and brackets; state is the first field after it.
    fields = line.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else float(fields[19])
