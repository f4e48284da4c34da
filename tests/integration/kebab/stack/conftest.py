"""Fixtures of stack tests: data directories, and whole stacks as processes."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import redis

from kebab.stack.paths import runtime_directory
from kebab.stack.servers.addresses import redis_client_url
from tests.support.stack import Stack, eventually


def is_running(pid: int) -> bool:
    """Return whether a process runs and is not a zombie."""
    try:
        return psutil.Process(pid).status() not in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    except psutil.NoSuchProcess:
        return False


def family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]


QUEUE = "queue-of-stack-tests"


@pytest.fixture
def waiting(settings, servers):
    """Send a message that no worker takes."""
    with redis.Redis.from_url(redis_client_url(settings.REDIS_URL)) as client:
        client.delete(QUEUE)
        client.rpush(QUEUE, "hint")
        yield
        client.delete(QUEUE)


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """Return the path of a missing data directory, below a folder that everybody may enter."""
    parent = Path(tempfile.mkdtemp(prefix="kebab-test-"))
    parent.chmod(0o755)
    path = parent / "data"
    yield path
    shutil.rmtree(runtime_directory(path), ignore_errors=True)
    shutil.rmtree(parent)


class Verbs(Stack):
    """Verbs as processes on one data directory; their stdout and stderr are pipes."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir)
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str, **streams: object) -> subprocess.Popen[str]:
        """Start a verb."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self._started.append(super().start(*arguments, **pipes, **streams))
        return self._started[-1]

    def up(self) -> subprocess.Popen[str]:
        """Start a whole stack and wait until it serves."""
        process = self.start("up")
        eventually(lambda: self.is_ready() or process.poll() is not None, "the stack serves", 300)
        assert process.poll() is None, process.communicate()
        return process

    def end(self) -> None:
        """Stop all running commands."""
        for process in self._started:
            if process.poll() is None:
                process.terminate()
            process.communicate()


@pytest.fixture
def verbs(data_dir: Path) -> Iterator[Verbs]:
    """Run commands on a data directory and port of their own."""
    runner = Verbs(data_dir)
    yield runner
    runner.end()
