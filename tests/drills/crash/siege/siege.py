"""One siege: clients work under fault after fault, then everything has to be as acknowledged."""

import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from tests.drills.crash.siege import aftermath, report
from tests.drills.crash.siege.clock import now_s
from tests.drills.crash.siege.household import Household
from tests.drills.crash.siege.keeper import Keeper
from tests.drills.crash.siege.outages import Outages
from tests.drills.crash.siege.strikes import Strike
from tests.drills.crash.verdict import Verdict
from tests.support.stack import GaveUp, Stack, eventually

# Maximum recovery time: a whole stack starts in 10 s, in 70 s when eight others share the same two cores.
_RECOVERY_LIMIT_S = 180.0
# This share of the faults waits for recovery from the previous one.
_PATIENT_SHARE = 0.5
_PAUSE_S = (0.1, 1.5)


class Striker(Protocol):
    """Source of faults by name."""

    def strike(self, name: str) -> Strike:
        """Apply a fault. Raises GaveUp."""


class Siege:
    """One siege of a running stack. Raises GaveUp when it can't continue."""

    def __init__(self, stack: Stack, folder: Path, verdict: Verdict, *, scene: str, seed: int) -> None:
        self._stack = stack
        self._verdict = verdict
        self._scene = scene
        self._seed = seed
        self._rng = random.Random(f"pauses {seed}")
        self._household = Household(stack, folder, seed=seed, slug=scene)
        self.outages = Outages()

    def play(self, striker: Striker, plan: Sequence[str], *, limit_s: float) -> dict[str, Any]:
        """Apply the planned faults for at most `limit_s`, check everything, and return the figures."""
        began_s = now_s()
        household = self._household
        with (
            self.outages,
            Keeper(self._stack, self.outages, lambda: household.canary.last_success_s) as keeper,
        ):
            household.start()
            try:
                gave_up = self._strike_all(striker, plan, keeper, began_s + limit_s)
                unended = gave_up + household.stop()
            finally:
                for client in household.clients:
                    client.abandon()
            took_s = now_s() - began_s
            found = report.figures(
                self._scene, self._seed, keeper.strikes, household.answers, self.outages, took_s
            )
            for line in report.lines(found):
                self._verdict.say(line)
            for name, violations in self._checks(keeper, unended):
                self._verdict.check(name, violations)
        return found

    def _strike_all(self, striker: Striker, plan: Sequence[str], keeper: Keeper, until_s: float) -> list[str]:
        """Apply faults until all are done, the time is over, or recovery fails; return the failures."""
        try:
            eventually(lambda: self._household.canary.last_success_s > 0.0, "the first write is found")
            self._strike(striker, plan, keeper, until_s)
        except GaveUp as error:
            return [str(error)]
        return []

    def _strike(self, striker: Striker, plan: Sequence[str], keeper: Keeper, until_s: float) -> None:
        for number, name in enumerate(plan, start=1):
            if now_s() > until_s:
                self._verdict.say(f"  the time is over after {number - 1} of {len(plan)} faults")
                break
            strike = striker.strike(name)
            keeper.strikes.append(strike)
            self._verdict.say(f"  {strike.at_s:7.1f} s  {number:>3}  {name}")
            if self._rng.random() < _PATIENT_SHARE:
                self._await_recovery(keeper)
            time.sleep(self._rng.uniform(*_PAUSE_S))
        self._await_recovery(keeper)

    def _await_recovery(self, keeper: Keeper) -> None:
        try:
            eventually(keeper.all_is_well, "all works again", _RECOVERY_LIMIT_S)
        except GaveUp:
            waiting = [each for each in keeper.strikes if not each.is_survived]
            unrecovered = (
                ", ".join(f"{each.name} at {each.at_s:.0f} s" for each in waiting) or "a store is away"
            )
            raise GaveUp(f"Not as before within {_RECOVERY_LIMIT_S:.0f} s: {unrecovered}") from None

    def _checks(self, keeper: Keeper, unended: list[str]) -> Iterator[tuple[str, list[str]]]:
        household, stack = self._household, self._stack
        door, ledger = household.door, household.ledger
        killed = sum(strike.name == "supervisor" for strike in keeper.strikes)
        restarts = [] if keeper.restarts == killed else [f"{killed} kills, {keeper.restarts} restarts"]
        lost = [strike.name for strike in keeper.strikes if not strike.is_survived]
        yield (
            "the stack recovers from every fault",
            [f"{len(lost)} are not: {', '.join(lost)}"] if lost else [],
        )
        yield "every write and every job ended", unended
        yield "no answer was wrong while it ran", list(household.answers.wrong_statements())
        yield (
            f"{len(household.answers)} answers: no 5xx but 503 with Retry-After, none but in an outage",
            list(household.answers.failures(self.outages)),
        )
        yield (
            "every acknowledged document is there once",
            list(aftermath.documents_equal_the_ledger(door, ledger)),
        )
        yield "each is found, nothing deleted is", list(aftermath.searches_equal_the_ledger(door, ledger))
        yield (
            "the mirrors equal Postgres, the doctor reports no failure",
            list(aftermath.doctor_passes(stack)),
        )
        yield "kebab up ended only when it was killed", restarts
        strays = stack.strays()
        yield "no process is left over from a killed one", [f"{sorted(strays)}"] if strays else []
