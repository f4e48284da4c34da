"""The lock of a data directory: at most one process runs its servers."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kebab.stack.errors import StackAlreadyRuns, StackBusy
from kebab.stack.paths import DataDirectory
from kebab.stack.storage.stack_lock import HolderKind, StackLock
from kebab.stack.supervisor.state import read_state

#: The longest wait for another command that runs servers of its own.
COMMAND_LIMIT_S = 120.0
_POLL_S = 0.2
_LEFTOVER_PATIENCE_S = 5.0


@contextmanager
def hold_for_stack(directory: DataDirectory, announce: Callable[[str], None]) -> Iterator[None]:
    """Hold the data directory for a whole stack, after waiting for commands that use it.

    Raises:
        StackAlreadyRuns: another stack holds it.
        StackBusy: a command has held it for two minutes.
    """
    lock = StackLock(directory.stack_lock)
    acquire_after_commands(lock, directory, HolderKind.UP, announce)
    if not lock.is_ours:
        holder = lock.holder()
        pid = "unknown" if holder is None else holder.pid
        raise StackAlreadyRuns(
            f"A stack already runs on {directory.path} (pid {pid}); stop it first, or choose another "
            "KEBAB_DATA_DIR and KEBAB_PORT."
        )
    try:
        terminate_leftovers(directory)
        yield
    finally:
        lock.release()


def acquire_after_commands(
    lock: StackLock, directory: DataDirectory, kind: HolderKind, announce: Callable[[str], None]
) -> None:
    """Acquire the lock, waiting while another command holds it; return without it if a stack or we hold it.

    Raises:
        StackBusy: a command has held it for two minutes.
    """
    deadline = time.monotonic() + COMMAND_LIMIT_S
    has_announced = False
    while not lock.acquire(kind):
        holder = lock.holder()
        if holder is not None and (holder.kind is HolderKind.UP or holder.pid == os.getpid()):
            return
        pid = "unknown" if holder is None else holder.pid
        if time.monotonic() > deadline:
            raise StackBusy(
                f"Process {pid} has used the servers of {directory.path} for {COMMAND_LIMIT_S:.0f} s; wait"
                " for it, or run `kebab up` and let all verbs share that stack."
            )
        if not has_announced:
            announce(f"Waiting for process {pid}, which uses the servers of {directory.path} ...")
            has_announced = True
        time.sleep(_POLL_S)


def terminate_leftovers(directory: DataDirectory) -> None:
    """Terminate the processes of a killed stack; usually the kernel has done so already.

    The servers are left out: they stop themselves, or are terminated when new ones start.
    """
    state = read_state(directory.stack_state)
    for process in () if state is None else state.processes:
        if process.name not in {"postgres", "redis"}:
            process.mark.terminate((signal.SIGTERM, signal.SIGKILL), grace_s=_LEFTOVER_PATIENCE_S)
    directory.stack_state.unlink(missing_ok=True)
