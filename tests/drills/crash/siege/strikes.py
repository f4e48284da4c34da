"""Faults of a stack: kills of its processes, and servers that are emptied and restarted."""

import os
import random
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass

import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from kebab.stack.servers import addresses
from tests.drills.crash import victims
from tests.drills.crash.siege.clock import now_s
from tests.drills.crash.siege.outages import IsBack, Outages
from tests.drills.crash.siege.probes import child_probe, postgres_probe, redis_probe, web_probe
from tests.support.stack import GaveUp, Stack, eventually

#: Faults other than kills; one follows after every `SERVER_FAULT_EVERY` kills.
SERVER_FAULTS = ("redis flush", "postgres fast", "redis restart", "postgres immediate", "postgres smart")
SERVER_FAULT_EVERY = 10
# A smart shutdown waits for all clients, and ours stay connected: the restart waits for them this long.
_SMART_LIMIT_S = 3.0
_FLUSH_LIMIT_S = 5.0
# The victim may just be starting with the whole stack.
_VICTIM_LIMIT_S = 120.0
_SIGNALS = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT, "smart": signal.SIGTERM}

_PROBES: Mapping[str, Mapping[str, Callable[[Stack], IsBack]]] = {
    "postgres": {"postgres": postgres_probe},
    "postgres backend": {"postgres": postgres_probe},
    "redis": {"redis": redis_probe},
    "web": {"web": web_probe},
    "web child": {"web": child_probe},
    "supervisor": {"postgres": postgres_probe, "redis": redis_probe, "web": web_probe},
}


@dataclass(slots=True, kw_only=True)
class Strike:
    """One fault, with the times until its victim was back and until a complete write worked again."""

    name: str
    at_s: float
    #: The victim's place in the stack, and its pid; '' for victims without a place.
    place: str = ""
    pid: int = 0
    back_s: float | None = None
    works_s: float | None = None

    @property
    def is_survived(self) -> bool:
        """Return whether the stack has recovered."""
        return self.back_s is not None and self.works_s is not None


def empty_redis(stack: Stack) -> None:
    """Flush the Redis of a stack, including its hints."""
    url = addresses.redis_client_url(addresses.redis_url(stack.data_dir))
    # Another strike may just have ended it with the whole stack.
    again = Retry(ConstantBackoff(_FLUSH_LIMIT_S), int(_VICTIM_LIMIT_S / _FLUSH_LIMIT_S))
    with redis.Redis.from_url(url, socket_timeout=_FLUSH_LIMIT_S, retry=again) as client:
        client.flushall()


def plan_of(seed: int, kills: int) -> list[str]:
    """Return the kills in order, with server faults between them; the same for the same seed."""
    chosen = victims.choose_victims(random.Random(f"siege {seed}"), kills)
    plan = []
    for number, victim in enumerate(chosen, start=1):
        plan.append(victim)
        if number % SERVER_FAULT_EVERY == 0:
            plan.append(SERVER_FAULTS[number // SERVER_FAULT_EVERY % len(SERVER_FAULTS)])
    return plan


class Strikes:
    """Faults of one stack with embedded servers."""

    def __init__(self, stack: Stack, outages: Outages, rng: random.Random) -> None:
        self._stack = stack
        self._outages = outages
        self._rng = rng

    def strike(self, name: str) -> Strike:
        """Apply the named fault. Raises GaveUp when there is no victim."""
        if name == "redis flush":
            return self._flush()
        victim, _, manner = name.partition(" ")
        if manner in _SIGNALS or manner == "restart":
            return self._end(name, victim, manner)
        eventually(lambda: victims.candidates(self._stack, name), f"a {name} runs", _VICTIM_LIMIT_S)
        with self._away(name):
            strike = Strike(name=name, at_s=now_s())
            strike.pid = victims.kill(self._stack, name, self._rng)
        strike.place = name if _has_place(name) else ""
        return strike

    def _away(self, victim: str) -> AbstractContextManager[None]:
        return self._outages.mark_away(
            {store: probe(self._stack) for store, probe in _PROBES.get(victim, {}).items()}
        )

    def _flush(self) -> Strike:
        strike = Strike(name="redis flush", at_s=now_s())
        empty_redis(self._stack)
        return strike

    def _end(self, name: str, server: str, manner: str) -> Strike:
        eventually(lambda: server in self._stack.pids(), f"{server} runs", _VICTIM_LIMIT_S)
        pid = self._stack.pids()[server]
        with self._away(server):
            strike = Strike(name=name, at_s=now_s(), place=server, pid=pid)
            with suppress(ProcessLookupError):
                os.kill(pid, _SIGNALS.get(manner, signal.SIGTERM))
                self._insist(server, pid)
        return strike

    def _insist(self, server: str, pid: int) -> None:
        try:
            eventually(lambda: self._stack.pids().get(server) != pid, f"{server} ends", _SMART_LIMIT_S)
        except GaveUp:
            os.kill(pid, signal.SIGINT)


def _has_place(victim: str) -> bool:
    return " " not in victim and victim != "parser"


def names(strikes: Sequence[Strike]) -> list[str]:
    """Return the kinds of faults that were applied."""
    return sorted({strike.name for strike in strikes})
