"""The stack of the demonstration: `kebab up` as a child process, unless a stack already runs."""

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console

from kebab.cli.errors import CliError
from kebab.cli.progress_bars import spinner
from kebab.database.connections import close_connections
from kebab.stack.configuration import StackConfiguration
from kebab.stack.supervisor.child import Child, ChildPlan, log_tail
from kebab.stack.supervisor.state import running_state

# The first start creates the database cluster and the model's graph.
_READY_LIMIT_S = 180.0
# Time limits after the first and the second request to stop.
_SOFT_STOP_S = 8.0
_URGENT_STOP_S = 40.0
_POLL_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoStack:
    """A running stack; `child` is None when it was already running."""

    url: str
    child: Child | None

    def wait_for_end(self) -> None:
        """Wait until our stack has ended by itself; Ctrl-C stops the waiting."""
        while self.child is not None and not self.child.wait(0.5):
            pass


@contextmanager
def serving_stack(configuration: StackConfiguration, console: Console) -> Iterator[DemoStack]:
    """Find or start a stack; one started here is stopped after the block. Raises CliError."""
    url = _serving_url(configuration)
    if url:
        yield DemoStack(url=url, child=None)
        return
    configuration.directory.ensure()
    child = Child(_plan(configuration))
    child.spawn()
    try:
        with spinner(console, f"Starting the stack on {configuration.directory.path} ..."):
            url = _await_ready(configuration, child)
        yield DemoStack(url=url, child=child)
    finally:
        close_connections()
        with spinner(console, "Stopping the stack ..."):
            _stop(child)


def _serving_url(configuration: StackConfiguration) -> str:
    state = running_state(configuration.directory.path)
    return state.url if state is not None and state.is_ready else ""


def _plan(configuration: StackConfiguration) -> ChildPlan:
    manage = configuration.project / "manage.py"
    program = (str(manage),) if manage.exists() else ("-m", "kebab")
    return ChildPlan(
        name="up",
        command=(sys.executable, *program, "up"),
        log=configuration.directory.logs / "up.log",
        # The stack stops its servers in order even when this process is killed.
        death_signal=signal.SIGTERM,
    )


def _await_ready(configuration: StackConfiguration, child: Child) -> str:
    deadline = time.monotonic() + _READY_LIMIT_S
    while not (url := _serving_url(configuration)):
        if not child.is_alive():
            log = child.plan.log
            raise CliError(f"The stack did not start; {log} ends:\n{log_tail(log)}", code="stack_error")
        if time.monotonic() > deadline:
            raise CliError(
                f"The stack is not ready after {_READY_LIMIT_S:.0f} s; see {configuration.directory.logs}.",
                code="stack_error",
            )
        time.sleep(_POLL_S)
    return url


def _stop(child: Child) -> None:
    for patience_s in (_SOFT_STOP_S, _URGENT_STOP_S):
        child.ask_to_stop()
        if child.wait(patience_s):
            return
    child.kill()
