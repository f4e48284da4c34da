"""Data directories of their own for the tests of the stack, and whole stacks as processes."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from django.conf import settings

from kebab.stack.paths import runtime_directory
from kebab.stack.state import StackState, running_state

_LIMIT_S = 90.0


def eventually(claim: Callable[[], bool], what: str, limit_s: float = _LIMIT_S) -> None:
    """Wait until a claim is true."""
    deadline = time.monotonic() + limit_s
    while not claim():
        assert time.monotonic() < deadline, f"{what} did not come true in {limit_s:.0f} s"
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Whether a process runs; one that nobody reaps does not."""
    try:
        return psutil.Process(pid).status() not in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    except psutil.NoSuchProcess:
        return False


def family(pid: int) -> list[int]:
    """A process and all its descendants."""
    return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A data directory that does not exist yet, below a folder that everybody can walk through."""
    parent = Path(tempfile.mkdtemp(prefix="kebab-test-"))
    parent.chmod(0o755)
    path = parent / "data"
    yield path
    shutil.rmtree(runtime_directory(path), ignore_errors=True)
    shutil.rmtree(parent)


@pytest.fixture
def free_port() -> int:
    """A TCP port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Verbs:
    """Runs verbs as processes on one data directory."""

    def __init__(self, data_dir: Path, port: int) -> None:
        self.data_dir = data_dir
        self.environment = {
            **os.environ,
            "KEBAB_DATA_DIR": str(data_dir),
            "KEBAB_PORT": str(port),
            "KEBAB_MIRROR_DIR": "",
            "KEBAB_RUNTIME_DIR": "",
            "DATABASE_URL": "",
            "KEBAB_OWNER_DATABASE_URL": "",
            "REDIS_URL": "",
        }
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a verb; its stdout and stderr are pipes."""
        process = subprocess.Popen(
            [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a verb to its end."""
        process = self.start(*arguments)
        stdout, stderr = process.communicate(timeout=_LIMIT_S)
        return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)

    def up(self) -> subprocess.Popen[str]:
        """Start a whole stack and wait until it serves."""
        process = self.start("up")
        eventually(lambda: self.is_ready() or process.poll() is not None, "the stack serves")
        assert process.poll() is None, process.communicate()
        return process

    def is_ready(self) -> bool:
        """Whether a stack says that it serves."""
        state = running_state(self.data_dir)
        return state is not None and state.is_ready

    def state(self) -> StackState:
        """What the running stack says."""
        state = running_state(self.data_dir)
        assert state is not None
        return state

    def pids(self) -> dict[str, int]:
        """The processes of the running stack by name; who is being started again is missing."""
        return {each.name: each.mark.pid for each in self.state().processes}

    def end(self) -> None:
        """End what is still there."""
        for process in self._started:
            if process.poll() is None:
                process.terminate()
            process.communicate()


@pytest.fixture
def verbs(data_dir: Path, free_port: int) -> Iterator[Verbs]:
    """Verbs on a data directory and port of their own."""
    runner = Verbs(data_dir, free_port)
    yield runner
    runner.end()
