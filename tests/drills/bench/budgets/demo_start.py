"""Time from the second start of the demonstration to its first hit, and its idle memory."""

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from kebab.cli.errors import CliError
from kebab.stack.configuration import StackConfiguration
from kebab.stack.supervisor.state import running_state
from tests.drills.bench.budgets.figures import Figure, missing_figure
from tests.drills.bench.budgets.machine import family_mb

_AT_MOST_S = 15.0
_LIMIT_S = 300.0
_NAME = "demo, second start to first hit"
_IDLE_AT_MOST_MB = 1_000.0
_IDLE = "memory, whole stack, idle"
# A stack is idle when its memory changes by at most this share between two polls.
_SETTLED = 0.01
_SETTLING_S = 5.0
_SETTLING_LIMIT_S = 120.0
# Variables that would point the demonstration to our own stack.
_STACK_VARIABLES = ("KEBAB_MIRROR_DIR", "KEBAB_RUNTIME_DIR", "KEBAB_NODE_ID")


def demo_figures() -> list[Figure]:
    """Run `kebab demo` twice in a scratch data directory; measure the second run's first hit and memory."""
    if not StackConfiguration.from_settings().has_embedded_postgres:
        why = "the demonstration would use the database of DATABASE_URL"
        return [missing_figure(_NAME, why, unit="s"), missing_figure(_IDLE, why, unit="MB")]
    with tempfile.TemporaryDirectory(prefix="kebab-demo-") as folder:
        Path(folder).chmod(0o711)  # Postgres may run as another user
        directory = Path(folder) / "data"
        with demonstration(directory):
            pass
        with demonstration(directory) as seconds:
            idle_mb = idle_stack_mb(directory)
    return [
        Figure(name=_NAME, value=seconds, unit="s", at_most=_AT_MOST_S),
        Figure(name=_IDLE, value=idle_mb, unit="MB", at_most=_IDLE_AT_MOST_MB, note="the demonstration's"),
    ]


@contextmanager
def demonstration(directory: Path) -> Iterator[float]:
    """Start `kebab demo` and yield the seconds until its first hit; it serves until the block ends."""
    environment = {name: value for name, value in os.environ.items() if name not in _STACK_VARIABLES}
    environment |= {"KEBAB_DATA_DIR": str(directory), "KEBAB_PORT": str(free_port()), "PYTHONUNBUFFERED": "1"}
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *_program(), "demo"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    limit = threading.Timer(_LIMIT_S, process.terminate)
    limit.start()
    try:
        assert process.stdout is not None
        if not find_first_hit(process.stdout):
            raise CliError(f"kebab demo ended with {process.wait()}, without a hit.", code="bench_failed")
        yield time.perf_counter() - started
    finally:
        limit.cancel()
        process.terminate()
        process.communicate()


def idle_stack_mb(directory: Path) -> float:
    """Return the memory of the stack that runs on `directory` once it is stable."""
    state = running_state(directory)
    if state is None:
        raise CliError(f"No stack runs on {directory} any more.", code="bench_failed")
    before, now = 0.0, sum(family_mb(state.supervisor.pid))
    deadline = time.monotonic() + _SETTLING_LIMIT_S
    while abs(now - before) > _SETTLED * now and time.monotonic() < deadline:
        time.sleep(_SETTLING_S)
        before, now = now, sum(family_mb(state.supervisor.pid))
    return now


def find_first_hit(lines: Iterable[str]) -> bool:
    """Read up to the line of the first hit, and return whether there is one."""
    is_search_done = False
    for line in lines:
        if is_search_done and line.strip():
            return True
        is_search_done = is_search_done or line.startswith("Searching for:")
    return False


def free_port() -> int:
    """Return a free port of the loopback interface."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _program() -> list[str]:
    manage = settings.BASE_DIR / "manage.py"
    return [str(manage)] if manage.exists() else ["-m", "kebab"]
