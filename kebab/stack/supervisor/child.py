"""A child process: its start, stop and kill."""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from kebab.runtime import lifeline
from kebab.stack.servers.os_user import Account
from kebab.stack.supervisor.fork_server import ForkServer

LOG_LIMIT_BYTES = 10_000_000
_TAIL_BYTES = 2_000


def limit_log(path: Path, limit_bytes: int = LOG_LIMIT_BYTES) -> None:
    """Copy a log file to `<name>.1` and truncate it once it is longer than the limit.

    The file itself stays: its writers append, and continue at its new end. A line written in between may be
    lost.
    """
    if path.exists() and path.stat().st_size > limit_bytes:
        shutil.copyfile(path, path.with_name(f"{path.name}.1"))
        with path.open("r+b") as stream:
            stream.truncate(0)


def open_log(path: Path) -> BinaryIO:
    """Open a log file for appending, after limiting its size."""
    limit_log(path)
    return path.open("ab")


def log_tail(path: Path) -> str:
    """Return the last lines of a log, for an error message; at most 2,000 bytes."""
    if not path.exists():
        return ""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return stream.read().decode(errors="replace").strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildPlan:
    """The command, signals and user of a child process."""

    name: str
    command: tuple[str, ...]
    log: Path
    #: The signal that asks it to stop after its current work.
    stop_signal: signal.Signals = signal.SIGTERM
    #: The signal that the kernel sends it when we end.
    death_signal: signal.Signals = signal.SIGKILL
    #: Added to our own niceness, 0 to 19.
    nice: int = 0
    #: The user it drops to; None: our own.
    account: Account | None = None
    #: Its working directory; None: our own.
    folder: Path | None = None
    #: The arguments, if it is a command of ours, for a fork server.
    arguments: tuple[str, ...] = ()


class Child:
    """A child process, in a separate session so that a Ctrl-C at the terminal reaches only the parent."""

    def __init__(self, plan: ChildPlan) -> None:
        self.plan = plan
        self.name = plan.name
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Return the pid of the living process."""
        return self._process.pid if self.is_alive() and self._process else None

    def spawn(self) -> int:
        """Start the process and return its pid; the process is killed when the calling thread ends."""
        with open_log(self.plan.log) as log:
            self._process = subprocess.Popen(
                launch_command(self.plan),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.plan.folder,
                start_new_session=True,
            )
        return self._process.pid

    def is_alive(self) -> bool:
        """Return whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def exit_status(self) -> int | None:
        """Return the exit status (negative: a signal); None before the start or while it runs."""
        return None if self._process is None else self._process.poll()

    def wait(self, limit_s: float | None = None) -> bool:
        """Wait for the end of the process; return False if it still runs after the limit."""
        if self._process is None:
            return True
        try:
            self._process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def ask_to_stop(self) -> None:
        """Send the process its stop signal."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(self.plan.stop_signal)

    def kill(self) -> None:
        """Kill the process and its session's first process group."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


class ForkedChild:
    """A command of ours that a fork server runs; a process of its own interpreter once that has ended."""

    def __init__(self, plan: ChildPlan, server: ForkServer) -> None:
        self.plan = plan
        self.name = plan.name
        self._server = server
        self._child = Child(plan)
        self._pid: int | None = None

    @property
    def pid(self) -> int | None:
        """Return the pid of the living process."""
        return (self._pid or self._child.pid) if self.is_alive() else None

    def spawn(self) -> int:
        """Start the process and return its pid."""
        limit_log(self.plan.log)
        self._pid = self._server.spawn(self.plan.arguments, log=self.plan.log, nice=self.plan.nice)
        return self._pid or self._child.spawn()

    def is_alive(self) -> bool:
        """Return whether the process runs."""
        if self._pid is None:
            return self._child.is_alive()
        return self._server.exit_status(self._pid) is None

    def exit_status(self) -> int | None:
        """Return the exit status (negative: a signal); None before the start or while it runs."""
        return self._child.exit_status() if self._pid is None else self._server.exit_status(self._pid)

    def wait(self, limit_s: float | None = None) -> bool:
        """Wait for the end of the process; return False if it still runs after the limit."""
        return self._child.wait(limit_s) if self._pid is None else self._server.wait(self._pid, limit_s)

    def ask_to_stop(self) -> None:
        """Send the process its stop signal."""
        if self._pid is None:
            self._child.ask_to_stop()
        elif self.is_alive():
            self._server.send_signal(self._pid, self.plan.stop_signal)

    def kill(self) -> None:
        """Kill the process and its session's first process group."""
        if self._pid is None:
            self._child.kill()
        elif self.is_alive():
            self._server.send_signal(self._pid, signal.SIGKILL, to_group=True)
            self._server.wait(self._pid, None)


def launch_command(plan: ChildPlan) -> list[str]:
    """Return the command line of `lifeline`, which ties the process to us, drops to its user and execs."""
    # Without site packages this intermediate Python costs some 20 ms.
    command = [sys.executable, "-I", "-S", lifeline.__file__]
    command += ["--signal", str(int(plan.death_signal)), "--parent", str(os.getpid())]
    command += ["--nice", str(plan.nice)]
    if plan.account is not None:
        command += ["--uid", str(plan.account.uid), "--gid", str(plan.account.gid)]
    return [*command, "--", *plan.command]
