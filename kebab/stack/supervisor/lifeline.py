"""Tie a process to its parent, so that a killed supervisor leaves nothing behind.

Also a program, `python lifeline.py --signal N --parent PID [--uid U --gid G] [--nice N] -- COMMAND…`: it ties
itself to its parent, drops to the user and becomes the command. The standard library's `preexec_fn` would do
this between fork and exec, where Python code may hang in a process that has threads.
"""

import argparse
import ctypes
import multiprocessing
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with_parent(death_signal: int, *, parent_pid: int) -> str | None:
    """Have the kernel send us the signal when our parent ends; the reason, where that is not possible.

    The kernel watches the thread that started us: a parent has to start its children from a thread that lives
    as long as they may. A change of user clears the tie, so this comes after it.

    Raises:
        SystemExit: the parent ended before the tie was made.
    """
    if sys.platform != "linux":
        return f"{sys.platform} cannot signal the children of a process that ends"
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0) != 0:
        return f"prctl was refused ({os.strerror(ctypes.get_errno())})"
    if os.getppid() != parent_pid:
        raise SystemExit(f"The parent process {parent_pid} has ended; ending too.")
    return None


def tie_to_spawner() -> None:
    """Tie a process that `multiprocessing` spawned (a web worker) to its parent; others stay as they are."""
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid is not None:
        die_with_parent(signal.SIGKILL, parent_pid=parent.pid)


def _become_command() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--signal", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--uid", type=int)
    parser.add_argument("--gid", type=int)
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    if given.uid is not None:
        os.setgroups([given.gid])
        os.setgid(given.gid)
        os.setuid(given.uid)
    die_with_parent(given.signal, parent_pid=given.parent)
    os.nice(given.nice)
    os.execvp(given.command[0], given.command)  # noqa: S606 - becoming the command is the purpose


if __name__ == "__main__":
    _become_command()
