"""What a stack takes while nobody asks it for anything, and what it holds open."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from kebab.stack.supervisor.state import StackState


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What the processes of a stack hold, the most of any one and all together."""

    processes: int
    most_files: int
    files: int
    most_threads: int
    threads: int


def held_by(state: StackState) -> Held:
    """Count open files and threads of the supervisor and all below it."""
    found = [counts for process in _family(state) if (counts := _counts(process)) is not None]
    files, threads = [each[0] for each in found], [each[1] for each in found]
    return Held(
        processes=len(found),
        most_files=max(files),
        files=sum(files),
        most_threads=max(threads),
        threads=sum(threads),
    )


def idle_cores(state: StackState, seconds: float) -> dict[str, float]:
    """Return the share of one core that each process takes meanwhile, of those that take any, and `all`."""
    taken = cpu_taken(state, lambda: time.sleep(seconds))
    shares = {name: taken_s / seconds for name, taken_s in {"all": sum(taken.values()), **taken}.items()}
    return {name: round(share, 4) for name, share in sorted(shares.items()) if share >= 0.0005}


def cpu_taken(state: StackState, action: Callable[[], object]) -> dict[str, float]:
    """Return the seconds of processor time that each kind of process took while `action` ran."""
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
    """Return the verb of a process of ours, the program of another."""
    words = process.cmdline()
    place = next((place for place, word in enumerate(words) if word.endswith("manage.py")), None)
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
