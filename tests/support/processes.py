"""Waits for processes."""

from collections.abc import Callable

import psutil

from tests.support.stack import eventually


def wait_until(claim: Callable[[], object]) -> None:
    """Wait until a condition on processes holds."""
    eventually(claim, "the processes are in that state", poll_s=0.01)


def is_running(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
