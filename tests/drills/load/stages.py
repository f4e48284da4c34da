"""The stages of a run: what can be done at most, a steady load, too much."""

import asyncio
import contextlib
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from django.conf import settings

from tests.drills.front_door.playing import attacking_in_turn
from tests.drills.front_door.rude import LARGE_FILE, Target
from tests.drills.load.arrivals import Heard, one_after_the_other, when_due
from tests.drills.load.gauges import Gauges
from tests.drills.load.growth import growing, taken
from tests.drills.load.traffic import Place, Traffic
from tests.support.stack import Stack

#: Of the most that was done, asked for in the steady load and in the overload.
STEADY, OVERLOAD = 0.7, 3.0
#: How much of the best useful throughput has to be left when too much is asked.
USEFUL_AT_LEAST = 0.9
_BUCKETS = 60

Say = Callable[[str], None]


class Stages:
    """One stack under one mixture of traffic."""

    def __init__(self, stack: Stack, places: Sequence[Place], *, attacked: bool, seed: int, say: Say) -> None:
        """With `attacked`, clients misbehave at the level of sockets while the steady load lasts."""
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
        """Play all stages; gives the figures and, as `complaints`, what was violated.

        The steady load lasts `settle_s` before what it takes is held against it, `steady_s` after that.
        """
        draw, url = self._traffic.draw, self._stack.url
        best = 0.0
        for n in clients:
            heard = await one_after_the_other(url, draw, clients=n, length_s=capacity_s)
            self._say(f"{n} clients without pause: {_told(heard)}")
            best = max(best, heard.useful_per_s)
        length_s = settle_s + steady_s
        steady, gauges = await self._steady(STEADY * best, length_s)
        over = await when_due(url, draw, per_s=OVERLOAD * best, length_s=overload_s, seed=self._seed + 1)
        self._say(f"{OVERLOAD:.0%} of it, {OVERLOAD * best:.0f} requests/s: {_told(over)}")
        complaints = [
            *_unanswered("steady", steady),
            *growing(gauges, steady, settle_s, length_s),
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

    async def _steady(self, per_s: float, length_s: float) -> tuple[Heard, Gauges]:
        gauges = Gauges()
        watching = asyncio.create_task(gauges.watch(self._stack, settings.REDIS_URL))
        try:
            with attacking_in_turn(self._attacked) as played:
                heard = await when_due(
                    self._stack.url, self._traffic.draw, per_s=per_s, length_s=length_s, seed=self._seed
                )
        finally:
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
        if self._attacked:
            assert played, "no attack was played beside the steady load"
            self._say(f"{played.total()} attacks beside the steady load")
        self._say(f"{STEADY:.0%} of it, {per_s:.0f} requests/s for {length_s:.0f} s: {_told(heard)}")
        return heard, gauges


def _targets(stack: Stack, place: Place) -> tuple[Target, Target]:
    """Return what somebody attacks who has not signed in, and somebody with a token."""
    anybody = Target(port=stack.port, large=LARGE_FILE, source="127.0.0.3")
    return anybody, replace(anybody, token=place.token)


def _overload(heard: Heard, best: float) -> list[str]:
    complaints = [*_unanswered("overload", heard)]
    if heard.useful_per_s < USEFUL_AT_LEAST * best:
        complaints.append(f"of {best:.1f} useful answers/s {heard.useful_per_s:.1f} are left under too much")
    return complaints


def _unanswered(stage: str, heard: Heard) -> list[str]:
    """Answers that are neither what was asked for nor a refusal that says when to come again."""
    strange = Counter(
        (answer.kind, answer.status)
        for answer in heard.answers
        if not (answer.is_useful or answer.is_refusal)
    )
    return [f"{stage}: {n} × {kind} answered with {status}" for (kind, status), n in strange.items()]


def _told(heard: Heard) -> str:
    statuses = Counter(answer.status for answer in heard.answers)
    told = ", ".join(f"{n} × {status}" for status, n in sorted(statuses.items()))
    times = taken(heard, "hybrid", 0.0, float("inf"))
    p50, p95 = (1000 * each for each in _p50_p95(times))
    return f"{heard.useful_per_s:.1f} useful/s, hybrid p50 {p50:.0f} ms, p95 {p95:.0f} ms ({told})"


def _p50_p95(times: Sequence[float]) -> tuple[float, float]:
    if len(times) < 2:
        return (times[0], times[0]) if times else (0.0, 0.0)
    cuts = statistics.quantiles(times, n=20, method="inclusive")
    return cuts[9], cuts[18]


def _figures(heard: Heard) -> dict[str, Any]:
    kinds = sorted({answer.kind for answer in heard.answers})
    statuses = Counter(str(answer.status) for answer in heard.answers)
    latencies = {}
    for kind in kinds:
        p50, p95 = _p50_p95(taken(heard, kind, 0.0, float("inf")))
        latencies[kind] = {"p50_ms": round(1000 * p50, 1), "p95_ms": round(1000 * p95, 1)}
    return {
        "requests": len(heard.answers),
        "useful_per_s": round(heard.useful_per_s, 1),
        "statuses": dict(sorted(statuses.items())),
        "latencies": latencies,
    }


def _minutes(heard: Heard, length_s: float) -> list[dict[str, float]]:
    """Latencies of hybrid searches over the time."""
    width_s = length_s / _BUCKETS
    rows = []
    for number in range(_BUCKETS):
        times = taken(heard, "hybrid", number * width_s, (number + 1) * width_s)
        p50, p95 = _p50_p95(times)
        rows.append(
            {
                "at_s": round(number * width_s, 1),
                "p50_ms": round(1000 * p50, 1),
                "p95_ms": round(1000 * p95, 1),
            }
        )
    return rows
