"""A supervised process: how it is started, asked to stop and killed."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from kebab.stack.servers.os_user import Account
from kebab.stack.supervisor import lifeline
from kebab.stack.supervisor.process_logs import open_log


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildPlan:
    """What a process is and how it wants to be treated."""

    name: str
    command: tuple[str, ...]
    log: Path
    #: What asks it to stop; what is there is finished first.
    stop_signal: signal.Signals = signal.SIGTERM
    #: What the kernel sends it when we end.
    death_signal: signal.Signals = signal.SIGKILL
    #: Added to our niceness, 0 to 19.
    nice: int = 0
    #: The user it drops to; None stays who we are.
    account: Account | None = None
    #: The folder it works in; None is ours.
    folder: Path | None = None


class Child:
    """A process of our own, in a session of its own so that a Ctrl-C at the terminal reaches only us."""

    def __init__(self, plan: ChildPlan) -> None:
        self.plan = plan
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        """Return the name in logs, messages and the state file."""
        return self.plan.name

    @property
    def pid(self) -> int | None:
        """Return the pid of the living process."""
        return self._process.pid if self.is_alive() and self._process else None

    def spawn(self) -> int:
        """Start the process and return its pid; the calling thread has to live as long as the process may."""
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
        """Return how the process ended (negative: by that signal); None while it runs or before it
        started.
        """
        return None if self._process is None else self._process.poll()

    def wait(self, limit_s: float | None = None) -> bool:
        """Wait for the end of the process; False when it still runs after the limit."""
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
        """Kill the process and everything in its session's first process group."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def launch_command(plan: ChildPlan) -> list[str]:
    """Return the command line that ties a process to us, drops to its user and becomes its command."""
    # Without site packages the detour costs some 20 ms.
    command = [sys.executable, "-I", "-S", lifeline.__file__]
    command += ["--signal", str(int(plan.death_signal)), "--parent", str(os.getpid())]
    command += ["--nice", str(plan.nice)]
    if plan.account is not None:
        command += ["--uid", str(plan.account.uid), "--gid", str(plan.account.gid)]
    return [*command, "--", *plan.command]
