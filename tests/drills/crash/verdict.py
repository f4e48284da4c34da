"""Output of the drill and its exit status."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # sieges need no models
    from tests.drills.crash.watch import Kill


class Verdict:
    """Prints each check as it is made, and counts violations."""

    def __init__(self) -> None:
        self.violations = 0

    def say(self, line: str) -> None:
        """Print a line at once."""
        print(line, flush=True)  # noqa: T201 - what the drill is for

    def check(self, name: str, violations: Iterable[str]) -> None:
        """Print the result of a check."""
        found = list(violations)
        self.violations += len(found)
        self.say(f"  {'VIOLATED' if found else 'ok      '}  {name}")
        for violation in found:
            self.say(f"            {violation}")

    def print_kills(self, kills: "list[Kill]") -> None:
        """Print the table of kills."""
        self.say(
            f"\n  {'killed at':>9}  {'victim':<17} {'pid':>8}  {'back after':>10}  {'progress after':>14}"
        )
        for kill in kills:
            back, progress = _seconds(kill.back_after_s), _seconds(kill.progress_after_s)
            self.say(f"  {kill.at_s:>7.1f} s  {kill.victim:<17} {kill.pid:>8}  {back:>10}  {progress:>14}")
        self.say("")

    def conclude(self) -> int:
        """Print the verdict, and return the exit status."""
        self.say(
            f"\nFAILED: {self.violations} violations"
            if self.violations
            else "\nPASSED: every invariant holds"
        )
        return 1 if self.violations else 0


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"
