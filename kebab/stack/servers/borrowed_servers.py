"""Servers for the length of one command, when no stack runs."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kebab.database.connections import close_connections
from kebab.stack.configuration import StackConfiguration
from kebab.stack.errors import StackBusy
from kebab.stack.models import ProcessRole
from kebab.stack.nodes.registry import living_processes
from kebab.stack.servers.reachability import check_external_servers
from kebab.stack.storage.data_dir_lock import acquire_after_commands, terminate_leftovers
from kebab.stack.storage.stack_lock import HolderKind, StackLock
from kebab.stack.supervisor.plan import Roles
from kebab.stack.supervisor.state import running_state
from kebab.stack.supervisor.supervisor import StopRequest, Supervisor

_UP_LIMIT_S = 120.0
_POLL_S = 0.05


def _print_message(message: str) -> None:
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()


@contextmanager
def borrow_stack(
    roles: Roles = Roles.SERVERS,
    *,
    configuration: StackConfiguration | None = None,
    announce: Callable[[str], None] = _print_message,
) -> Iterator[None]:
    """Run a block with servers (and workers) that answer and are migrated.

    A running stack is used as it is. Otherwise they are started for the block and stopped after it, and
    `announce` (a line on stderr) reports that. One command at a time: others wait up to two minutes.

    Raises:
        StackBusy: another command holds the data directory for too long, or a starting stack is not ready in
            time.
        StackError: the servers did not start.
    """
    stack = configuration or StackConfiguration.from_settings()
    if _needs_no_servers(stack, roles):
        yield
        return
    stack.directory.ensure()
    lock = StackLock(stack.directory.stack_lock)
    acquire_after_commands(lock, stack.directory, HolderKind.COMMAND, announce)
    if not lock.is_ours:
        _wait_for_running_stack(stack)
        yield
        return
    try:
        terminate_leftovers(stack.directory)
        announce(f"No stack runs on {stack.directory.path}; starting its servers for this command ...")
        with _run_in_thread(Supervisor(stack, roles, announce=announce)):
            yield
    finally:
        lock.release()


def _needs_no_servers(stack: StackConfiguration, roles: Roles) -> bool:
    """Return whether all required servers and workers run outside our data directory."""
    if stack.has_embedded_postgres or stack.has_embedded_redis:
        return False
    check_external_servers(stack)
    return roles is Roles.SERVERS or living_processes().filter(role=ProcessRole.WORKER).exists()


def _wait_for_running_stack(stack: StackConfiguration) -> None:
    deadline = time.monotonic() + _UP_LIMIT_S
    while True:
        state = running_state(stack.directory.path)
        if state is not None and state.is_ready:
            return
        if time.monotonic() > deadline:
            raise StackBusy(
                f"The stack on {stack.directory.path} is not ready after {_UP_LIMIT_S:.0f} s; "
                f"see its logs in {stack.directory.logs}."
            )
        time.sleep(_POLL_S)


@contextmanager
def _run_in_thread(supervisor: Supervisor) -> Iterator[None]:
    """Run a supervisor in a thread during the block; its children live as long as that thread."""
    stop, ready, failures = StopRequest(), threading.Event(), []

    def run() -> None:
        try:
            supervisor.run(stop, on_ready=ready.set)
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            failures.append(error)
            ready.set()

    thread = threading.Thread(target=run, name="supervisor")
    thread.start()
    try:
        ready.wait()
        if failures:
            raise failures[0]
        yield
    finally:
        # Connections to stopped servers would fail at their next use.
        close_connections()
        stop.request()
        thread.join()
