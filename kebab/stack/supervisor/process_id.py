"""Processes named so that a reused pid is not mistaken for them."""

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import psutil

_POLL_S = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessMark:
    """A process by pid and time of birth (clock ticks since boot on Linux, else seconds since the epoch)."""

    pid: int
    born: float

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """Return the mark of a living process; None when it has ended."""
        born = _born(pid)
        return None if born is None else cls(pid=pid, born=born)

    @classmethod
    def own(cls) -> Self:
        """Return the mark of this process."""
        born = _born(os.getpid())
        assert born is not None, "this process lives"  # noqa: S101
        return cls(pid=os.getpid(), born=born)

    def is_alive(self) -> bool:
        """Return whether this very process still runs; one that only waits to be reaped does not."""
        return _born(self.pid) == self.born

    def wait(self, limit_s: float) -> bool:
        """Wait for the end of the process; False when it still lives after the limit."""
        deadline = time.monotonic() + limit_s
        while self.is_alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def end(self, signals: tuple[int, ...], *, patience_s: float) -> None:
        """Send one signal after the other until the process is gone, with `patience_s` seconds after each."""
        for number in signals:
            if not self.is_alive():
                return
            psutil.Process(self.pid).send_signal(number)
            if self.wait(patience_s):
                return


def _born(pid: int) -> float | None:
    # psutil's create_time moves when the clock is set; the kernel's own figure does not.
    if sys.platform == "linux":
        return _born_by_proc(pid)
    try:
        found = psutil.Process(pid)
        return None if found.status() == psutil.STATUS_ZOMBIE else found.create_time()
    except psutil.NoSuchProcess:
        return None


def _born_by_proc(pid: int) -> float | None:
    try:
        line = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # proc_pid_stat(5): the command may hold spaces and brackets; state is the first field after it.
    fields = line.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else float(fields[19])
