"""Stages of a run: capacity, steady load, overload."""

import asyncio
import contextlib
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from django.conf import settings

from tests.drills.front_door.attack_run import run_attacks_in_turn
from tests.drills.front_door.target import LARGE_FILE, Target
from tests.drills.load.arrivals import AnswerLog, send_on_schedule, send_sequentially
from tests.drills.load.gauges import Gauges
from tests.drills.load.growth import growth, latencies_s
from tests.drills.load.traffic import LoadedWorkspace, Traffic
from tests.support.stack import Stack

#: Shares of the capacity requested in the steady load and in the overload.
STEADY, OVERLOAD = 0.7, 3.0
#: Minimum share of the capacity that remains useful under overload.
USEFUL_AT_LEAST = 0.9
_BUCKETS = 60

Say = Callable[[str], None]


class Stages:
    """One stack under mixed traffic."""

    def __init__(
        self, stack: Stack, places: Sequence[LoadedWorkspace], *, attacked: bool, seed: int, say: Say
    ) -> None:
        """With `attacked`, clients misbehave at the level of sockets during the steady load."""
        self._stack = stack
        self._attacked = _targets(stack, places[0]) if attacked else ()
        self._traffic = Traffic(places, seed)
        self._seed = seed
        self._say = say

    async def play(
        self,
        *,
        clients: Sequence[int],
        capacity_s: float,
        settle_s: float,
        steady_s: float,
        overload_s: float,
    ) -> dict[str, Any]:
        """Play all stages; return the figures and, as `complaints`, the violations.

        Growth is measured over `steady_s` of the steady load, after `settle_s`.
        """
        draw, url = self._traffic.draw, self._stack.url
        best = 0.0
        for n in clients:
            log = await send_sequentially(url, draw, clients=n, length_s=capacity_s)
            self._say(f"{n} clients without pause: {_summary(log)}")
            best = max(best, log.useful_per_s)
        length_s = settle_s + steady_s
        steady, gauges = await self._steady(STEADY * best, length_s)
        over = await send_on_schedule(
            url, draw, per_s=OVERLOAD * best, length_s=overload_s, seed=self._seed + 1
        )
        self._say(f"{OVERLOAD:.0%} of it, {OVERLOAD * best:.0f} requests/s: {_summary(over)}")
        complaints = [
            *_failures("steady", steady),
            *growth(gauges, steady, settle_s, length_s),
            *_overload(over, best),
        ]
        return {
            "capacity_per_s": round(best, 1),
            "steady": {
                **_figures(steady),
                "settle_s": settle_s,
                "minutes": _minutes(steady, length_s),
                "gauges": gauges.series,
            },
            "overload": _figures(over),
            "complaints": complaints,
        }

    async def _steady(self, per_s: float, length_s: float) -> tuple[AnswerLog, Gauges]:
        gauges = Gauges()
        watching = asyncio.create_task(gauges.watch(self._stack, settings.REDIS_URL))
        try:
            with run_attacks_in_turn(self._attacked) as played:
                log = await send_on_schedule(
                    self._stack.url, self._traffic.draw, per_s=per_s, length_s=length_s, seed=self._seed
                )
        finally:
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
        if self._attacked:
            assert played, "no attack was played beside the steady load"
            self._say(f"{played.total()} attacks beside the steady load")
        self._say(f"{STEADY:.0%} of it, {per_s:.0f} requests/s for {length_s:.0f} s: {_summary(log)}")
        return log, gauges


def _targets(stack: Stack, place: LoadedWorkspace) -> tuple[Target, Target]:
    """Return an anonymous target and one with a token."""
    anybody = Target(port=stack.port, large=LARGE_FILE, source="127.0.0.3")
    return anybody, replace(anybody, token=place.token)


def _overload(log: AnswerLog, best: float) -> list[str]:
    complaints = [*_failures("overload", log)]
    if log.useful_per_s < USEFUL_AT_LEAST * best:
        complaints.append(f"of {best:.1f} useful answers/s {log.useful_per_s:.1f} are left under too much")
    return complaints


def _failures(stage: str, log: AnswerLog) -> list[str]:
    """Return the answers that neither succeeded nor were rejected with Retry-After, as sentences."""
    strange = Counter(
        (answer.kind, answer.status) for answer in log.answers if not (answer.is_useful or answer.is_refusal)
    )
    return [f"{stage}: {n} × {kind} answered with {status}" for (kind, status), n in strange.items()]


def _summary(log: AnswerLog) -> str:
    statuses = Counter(answer.status for answer in log.answers)
    counts = ", ".join(f"{n} × {status}" for status, n in sorted(statuses.items()))
    times = latencies_s(log, "hybrid", 0.0, float("inf"))
    p50, p95 = (1000 * each for each in _p50_p95(times))
    return f"{log.useful_per_s:.1f} useful/s, hybrid p50 {p50:.0f} ms, p95 {p95:.0f} ms ({counts})"


def _p50_p95(times: Sequence[float]) -> tuple[float, float]:
    if len(times) < 2:
        return (times[0], times[0]) if times else (0.0, 0.0)
    cuts = statistics.quantiles(times, n=20, method="inclusive")
    return cuts[9], cuts[18]


def _figures(log: AnswerLog) -> dict[str, Any]:
    kinds = sorted({answer.kind for answer in log.answers})
    statuses = Counter(str(answer.status) for answer in log.answers)
    latencies = {}
    for kind in kinds:
        p50, p95 = _p50_p95(latencies_s(log, kind, 0.0, float("inf")))
        latencies[kind] = {"p50_ms": round(1000 * p50, 1), "p95_ms": round(1000 * p95, 1)}
    return {
        "requests": len(log.answers),
        "useful_per_s": round(log.useful_per_s, 1),
        "statuses": dict(sorted(statuses.items())),
        "latencies": latencies,
    }


def _minutes(log: AnswerLog, length_s: float) -> list[dict[str, float]]:
    """Return latencies of hybrid searches over time."""
    width_s = length_s / _BUCKETS
    rows = []
    for number in range(_BUCKETS):
        times = latencies_s(log, "hybrid", number * width_s, (number + 1) * width_s)
        p50, p95 = _p50_p95(times)
        rows.append(
            {
                "at_s": round(number * width_s, 1),
                "p50_ms": round(1000 * p50, 1),
                "p95_ms": round(1000 * p95, 1),
            }
        )
    return rows
