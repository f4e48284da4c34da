"""Choice of processes to kill: a process of the stack by its role, or a child of one."""

import os
import random
import signal
import time

import psutil

from tests.support.stack import GaveUp, Stack

#: One of each is killed before any is chosen twice.
FIRST = ("worker child", "worker", "web", "redis", "postgres", "supervisor")
_ALL = (*FIRST, "embedder", "mirror", "beat", "parser", "postgres backend", "web child")
_LIMIT_S = 20.0
_POLL_S = 0.02


def choose_victims(rng: random.Random, kills: int) -> list[str]:
    """Return roles in the order in which to kill them."""
    first = rng.sample(FIRST, min(kills, len(FIRST)))
    victims = first + rng.choices(_ALL, k=kills - len(first))
    rng.shuffle(victims)
    return victims


def kill(stack: Stack, victim: str, rng: random.Random) -> int:
    """Kill -9 a process of that role as soon as there is one, and return its pid. Raises GaveUp."""
    deadline = time.monotonic() + _LIMIT_S
    while True:
        pids = candidates(stack, victim)
        if pids:
            pid = rng.choice(pids)
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            return pid
        if time.monotonic() > deadline:
            raise GaveUp(f"No {victim} was there to be killed within {_LIMIT_S:.0f} s")
        time.sleep(_POLL_S)


def worker_family(stack: Stack) -> list[int]:
    """Return the pids of the ordinary worker's main process and its children, without their parsers."""
    worker = stack.pids()["worker"]
    return [worker, *_children([worker])]


def candidates(stack: Stack, victim: str) -> list[int]:
    """Return the pids of that role."""
    pids = stack.pids()
    match victim:
        case "worker child":
            return _children(_present(pids, "worker"))
        case "parser":
            return _children(_children(_present(pids, "worker")))
        case "web child":
            return _children(_present(pids, "web"))
        case "postgres backend":
            return _children(_present(pids, "postgres"))
        case _:
            return _present(pids, victim)


def _present(pids: dict[str, int], name: str) -> list[int]:
    return [pids[name]] if name in pids else []


def _children(parents: list[int]) -> list[int]:
    found = []
    for parent in parents:
        try:
            found += [child.pid for child in psutil.Process(parent).children()]
        except psutil.NoSuchProcess:
            continue
    return sorted(found)
