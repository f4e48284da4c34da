"""Lifeline of a process to its parent, so that a killed supervisor leaves no children behind.

Also a program, `python lifeline.py --signal N --parent PID [--uid U --gid G] [--nice N] -- COMMAND…`: it ties
itself to its parent, drops to the user and execs the command. The standard library's `preexec_fn` would do
this between fork and exec, where Python code may hang in a process that has threads.

Sandboxed processes import it when they start: what only some callers need is imported where it is used.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with_parent(death_signal: int, *, parent_pid: int) -> str | None:
    """Request the signal from the kernel for when our parent ends; return the reason if that is impossible.

    The kernel watches the thread that started us: a parent has to start its children from a thread that lives
    as long as they may. A change of user clears the setting, so call this after it.

    Raises:
        SystemExit: the parent ended before the setting took effect.
    """
    if sys.platform != "linux":
        return f"{sys.platform} cannot signal the children of a process that ends"
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0) != 0:
        return f"prctl was refused ({os.strerror(ctypes.get_errno())})"
    if os.getppid() != parent_pid:
        raise SystemExit(f"The parent process {parent_pid} has ended; ending too.")
    return None


def tie_to_spawner() -> None:
    """Tie a process that `multiprocessing` spawned (a web worker) to its parent; do nothing in others."""
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None and parent.pid is not None:
        die_with_parent(signal.SIGKILL, parent_pid=parent.pid)


def _become_command() -> None:
    import argparse

    parser = argparse.ArgumentParser()
    parser.add_argument("--signal", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--uid", type=int)
    parser.add_argument("--gid", type=int)
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    if arguments.uid is not None:
        os.setgroups([arguments.gid])
        os.setgid(arguments.gid)
        os.setuid(arguments.uid)
    die_with_parent(arguments.signal, parent_pid=arguments.parent)
    os.nice(arguments.nice)
    os.execvp(arguments.command[0], arguments.command)  # noqa: S606 - exec is the purpose


if __name__ == "__main__":
    _become_command()
