"""Claims and figures of the scenes, printed as they are made and stored for later."""

import json
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import quantiles
from typing import Any

_MOST_SHOWN = 6


class Report:
    """The claims by scene, each with its violations."""

    def __init__(self, path: Path | None, *, patience: float = 1.0) -> None:
        """Store results in `path`; `patience` multiplies all time limits, for a machine with other load."""
        self._path = path
        self.patience = patience
        self._began = time.monotonic()
        self._scene = ""
        self.violations: dict[str, dict[str, list[str]]] = {}
        self.measured: dict[str, dict[str, Any]] = {}

    def begin(self, scene: str) -> None:
        """Begin a scene, to which the following claims belong."""
        self._scene = scene
        self.violations[scene], self.measured[scene] = {}, {}
        self._say(f"\n{scene} (after {time.monotonic() - self._began:.0f} s)")

    def claim(self, claim: str, against: Iterable[object]) -> None:
        """Record a claim, which holds when `against` is empty."""
        found = [str(each) for each in against]
        self.violations[self._scene].setdefault(claim, []).extend(found)
        self._say(f"  {'VIOLATED' if found else 'ok      '}  {claim}")
        for each in found[:_MOST_SHOWN]:
            self._say(f"            {each}")
        if len(found) > _MOST_SHOWN:
            self._say(f"            and {len(found) - _MOST_SHOWN} more")

    def measure(self, name: str, value: object) -> None:
        """Record a figure, its unit in its name."""
        self.measured[self._scene][name] = value
        self._say(f"            {name}: {value}")

    def conclude(self) -> int:
        """Write the report, and return the exit status: 1 when a claim was violated."""
        document = {"violations": self.violations, "measured": self.measured}
        if self._path is not None:
            self._path.write_text(json.dumps(document, indent=2))
        count = sum(len(found) for claims in self.violations.values() for found in claims.values())
        self._say(f"\n{f'FAILED: {count} violations' if count else 'PASSED'}")
        return 1 if count else 0

    def _say(self, line: str) -> None:
        print(line, flush=True)  # noqa: T201 - what the report is for


def spread_ms(seconds: Iterable[float]) -> str:
    """Return a description of the durations."""
    durations_ms = sorted(1000 * each for each in seconds)
    if len(durations_ms) < 2:
        return f"n={len(durations_ms)} {durations_ms}"
    p50, p95 = quantiles(durations_ms, n=20, method="inclusive")[9::9]
    return f"n={len(durations_ms)} p50={p50:.0f} ms p95={p95:.0f} ms max={durations_ms[-1]:.0f} ms"
