"""A stack for tests: `kebab up` and other commands as processes on one data directory."""

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from kebab.stack.paths import DataDirectory, runtime_directory
from kebab.stack.servers.reachability import is_serving
from kebab.stack.supervisor.process_id import ProcessIdentity
from kebab.stack.supervisor.state import StackState, running_state
from tests.support.paths import ROOT

MANAGE = ROOT / "manage.py"
_START_LIMIT_S = 90.0
_STOP_LIMIT_S = 60.0
_POLL_S = 0.05


class GaveUp(AssertionError):
    """Raised when a condition did not hold in time."""


def eventually(
    claim: Callable[[], object], what: str, limit_s: float = 60.0, poll_s: float = _POLL_S
) -> None:
    """Wait until a condition holds. Raises GaveUp."""
    deadline = time.monotonic() + limit_s
    while not claim():
        if time.monotonic() > deadline:
            raise GaveUp(f"Not within {limit_s:.0f} s: {what}")
        time.sleep(poll_s)


def free_port() -> int:
    """Return a TCP port that was free a moment ago, outside of the kernel's ephemeral range."""
    for port in random.SystemRandom().sample(range(15_000, 32_000), 200):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise GaveUp("No port is free.")


def temporary_directory() -> Path:
    """Return a folder that Postgres' own user may enter when root runs the stack."""
    path = Path(tempfile.mkdtemp(prefix="kebab-stack-"))
    path.chmod(0o711)
    return path


# No search lacks a leg only because the machine has other tests to run.
PATIENCE = {
    "KEBAB_LEG_LIMIT_MS": "60000",
    "KEBAB_SEARCH_LIMIT_MS": "60000",
    "KEBAB_SEARCH_STATEMENT_LIMIT_MS": "60000",
}


class Stack:
    """A stack as a person runs it: `kebab up` in one terminal, commands in others.

    `environment` is what it gets beside ours; nothing of our own Kebab settings reaches it.
    """

    def __init__(self, data_dir: Path, **environment: str) -> None:
        self.data_dir = data_dir
        self.port = free_port()
        inherited = {name: value for name, value in os.environ.items() if not _is_setting(name)}
        own = {"KEBAB_DATA_DIR": str(data_dir), "KEBAB_PORT": str(self.port), **PATIENCE}
        self.environment = {**inherited, **own, **environment}
        self._up: subprocess.Popen[bytes] | None = None
        self._seen: set[ProcessIdentity] = set()

    @property
    def url(self) -> str:
        """Return the address of the web process."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def is_ended(self) -> bool:
        """Return whether `kebab up` was started and has ended."""
        return self._up is not None and self._up.poll() is not None

    def spawn(self) -> None:
        """Run `kebab up` without waiting for it; its output is appended to logs/up.log."""
        logs = DataDirectory(self.data_dir).logs
        logs.mkdir(parents=True, exist_ok=True)
        with (logs / "up.log").open("ab") as log:
            self._up = self.start("up", stdout=log, stderr=log)

    def up(self) -> None:
        """Run `kebab up` and wait until it is ready. Raises GaveUp."""
        self.spawn()
        eventually(lambda: self.is_ready() or self.is_ended, "the stack serves", _START_LIMIT_S)
        if self.is_ended:
            raise GaveUp(f"kebab up ended:\n{self.log('up')}")

    def start(self, *arguments: str, **streams: object) -> "subprocess.Popen[bytes]":
        """Start a command."""
        return subprocess.Popen([sys.executable, str(MANAGE), *arguments], env=self.environment, **streams)

    def run(self, *arguments: str, limit_s: float = 90.0) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end."""
        command = [sys.executable, str(MANAGE), *arguments]
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=limit_s, check=False
        )

    def run_command(self, *arguments: str) -> Any:
        """Return the JSON document that a command prints. Raises RuntimeError when it fails."""
        done = self.run(*arguments, "--json")
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(arguments)}: {done.stderr}")
        return json.loads(done.stdout)

    def state(self) -> StackState | None:
        """Return the state that the running stack reports; None while none runs."""
        return running_state(self.data_dir)

    def is_ready(self) -> bool:
        """Return whether the stack reports that it is ready."""
        state = self.state()
        return state is not None and state.is_ready

    def answers(self) -> bool:
        """Return whether its web process responds within a second."""
        return is_serving(self.url)

    def pids(self) -> dict[str, int]:
        """Return the pids by process name, the supervisor's included; restarting processes are missing."""
        state = self.state()
        if state is None:
            return {}
        named = {each.name: each.mark.pid for each in state.processes if each.mark.is_alive()}
        return {**named, "supervisor": state.supervisor.pid}

    def note_processes(self) -> None:
        """Remember the stack's current processes."""
        self._seen |= self._family()

    def strays(self) -> set[int]:
        """Return the live processes that once belonged to the stack and no longer do."""
        family = self._family()
        return {mark.pid for mark in self._seen - family if mark.is_alive()}

    def log(self, name: str, lines: int = 30) -> str:
        """Return the last lines of a log."""
        path = DataDirectory(self.data_dir).logs / f"{name}.log"
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else ""

    def stop(self) -> None:
        """Stop it as Ctrl-C does. Raises GaveUp when it does not end."""
        if self._up is None:
            return
        if self._up.poll() is None:
            self._up.send_signal(signal.SIGTERM)
        try:
            self._up.wait(_STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._up.kill()
            raise GaveUp(f"kebab up did not stop within {_STOP_LIMIT_S:.0f} s") from None

    def remove(self) -> None:
        """Remove its files."""
        shutil.rmtree(runtime_directory(self.data_dir), ignore_errors=True)
        shutil.rmtree(self.data_dir, ignore_errors=True)

    def _family(self) -> set[ProcessIdentity]:
        if self._up is None or self._up.poll() is not None:
            return set()
        try:
            children = psutil.Process(self._up.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return set()
        marks = (ProcessIdentity.of(pid) for pid in (self._up.pid, *(child.pid for child in children)))
        return {mark for mark in marks if mark is not None}


def _is_setting(name: str) -> bool:
    return name.startswith("KEBAB_") or name in {"DATABASE_URL", "REDIS_URL"}
