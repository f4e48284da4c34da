"""Holding a data directory: at most one process runs its servers."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kebab.stack.errors import StackAlreadyRuns, StackBusy
from kebab.stack.paths import DataDirectory
from kebab.stack.storage.file_locks import HolderKind, StackLock
from kebab.stack.supervisor.state import read_state

#: How long we wait for a verb that has the servers for itself.
VERB_LIMIT_S = 120.0
_POLL_S = 0.2
_LEFTOVER_PATIENCE_S = 5.0


@contextmanager
def held_by_up(directory: DataDirectory, announce: Callable[[str], None]) -> Iterator[None]:
    """Hold the data directory for a whole stack; waits for verbs that use it.

    Raises:
        StackAlreadyRuns: another stack has it.
        StackBusy: a verb has had it for two minutes.
    """
    lock = StackLock(directory.stack_lock)
    acquire_after_verbs(lock, directory, HolderKind.UP, announce)
    if not lock.is_ours:
        holder = lock.holder()
        pid = "unknown" if holder is None else holder.pid
        raise StackAlreadyRuns(
            f"A stack already runs on {directory.path} (pid {pid}); stop it first, or choose another "
            "KEBAB_DATA_DIR and KEBAB_PORT."
        )
    try:
        end_leftovers(directory)
        yield
    finally:
        lock.release()


def acquire_after_verbs(
    lock: StackLock, directory: DataDirectory, kind: HolderKind, announce: Callable[[str], None]
) -> None:
    """Take the lock, waiting while another verb has it; returns without it when a stack or we have it.

    Raises:
        StackBusy: a verb has had it for two minutes.
    """
    deadline = time.monotonic() + VERB_LIMIT_S
    has_told = False
    while not lock.acquire(kind):
        holder = lock.holder()
        if holder is not None and (holder.kind is HolderKind.UP or holder.pid == os.getpid()):
            return
        pid = "unknown" if holder is None else holder.pid
        if time.monotonic() > deadline:
            raise StackBusy(
                f"Process {pid} has used the servers of {directory.path} for {VERB_LIMIT_S:.0f} s; wait for "
                "it, or run `kebab up` and let all verbs share that stack."
            )
        if not has_told:
            announce(f"Waiting for process {pid}, which uses the servers of {directory.path} ...")
            has_told = True
        time.sleep(_POLL_S)


def end_leftovers(directory: DataDirectory) -> None:
    """End what a killed stack left running; the kernel usually has done so already.

    The servers are not among them: they stop themselves, or are taken over when they are started.
    """
    state = read_state(directory.stack_state)
    for process in () if state is None else state.processes:
        if process.name not in {"postgres", "redis"}:
            process.mark.end((signal.SIGTERM, signal.SIGKILL), patience_s=_LEFTOVER_PATIENCE_S)
    directory.stack_state.unlink(missing_ok=True)
