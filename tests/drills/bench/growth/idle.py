"""CPU time of an idle stack, and its open files and threads."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from kebab.stack.supervisor.state import StackState


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceCounts:
    """Open files and threads of a stack's processes: the maximum of one process, and the sum."""

    processes: int
    most_files: int
    files: int
    most_threads: int
    threads: int


def count_resources(state: StackState) -> ResourceCounts:
    """Count open files and threads of the supervisor and its descendants."""
    found = [counts for process in _family(state) if (counts := _counts(process)) is not None]
    files, threads = [each[0] for each in found], [each[1] for each in found]
    return ResourceCounts(
        processes=len(found),
        most_files=max(files),
        files=sum(files),
        most_threads=max(threads),
        threads=sum(threads),
    )


def idle_cores(state: StackState, seconds: float) -> dict[str, float]:
    """Return the share of one core that each busy kind of process uses within `seconds`, and `all`."""
    taken = cpu_taken(state, lambda: time.sleep(seconds))
    shares = {name: taken_s / seconds for name, taken_s in {"all": sum(taken.values()), **taken}.items()}
    return {name: round(share, 4) for name, share in sorted(shares.items()) if share >= 0.0005}


def cpu_taken(state: StackState, action: Callable[[], object]) -> dict[str, float]:
    """Return the seconds of CPU time that each kind of process used while `action` ran."""
    before = _cpu_s(state)
    action()
    taken: dict[str, float] = {}
    for pid, (name, used_s) in _cpu_s(state).items():
        taken[name] = taken.get(name, 0.0) + used_s - before.get(pid, ("", 0.0))[1]
    return taken


def _cpu_s(state: StackState) -> dict[int, tuple[str, float]]:
    found = {}
    for process in _family(state):
        try:
            times = process.cpu_times()
            found[process.pid] = (_role(process), times.user + times.system)
        except psutil.NoSuchProcess:
            continue
    return found


def _role(process: psutil.Process) -> str:
    """Return the command of a process of ours, the program of another."""
    words = " ".join(process.cmdline()).split()
    ours = ("manage.py", "kebab")
    place = next((place for place, word in enumerate(words) if word.endswith(ours)), None)
    if place is not None and place + 1 < len(words):
        return words[place + 1]
    return process.name()


def _family(state: StackState) -> list[psutil.Process]:
    supervisor = psutil.Process(state.supervisor.pid)
    return [supervisor, *supervisor.children(recursive=True)]


def _counts(process: psutil.Process) -> tuple[int, int] | None:
    try:
        return process.num_fds(), process.num_threads()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return None
