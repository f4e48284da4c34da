"""Results of a siege, as a table and as JSON."""

import json
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.drills.crash.siege.answers import Answers
from tests.drills.crash.siege.outages import Outages
from tests.drills.crash.siege.strikes import Strike


def figures(
    scene: str, seed: int, strikes: Sequence[Strike], answers: Answers, outages: Outages, took_s: float
) -> dict[str, Any]:
    """Return the recovered faults, recovery times by kind, outages by store, answers by kind and status."""
    kinds: dict[str, list[Strike]] = defaultdict(list)
    for strike in strikes:
        kinds[strike.name].append(strike)
    away: dict[str, list[float]] = defaultdict(list)
    for outage in outages.all:
        if outage.ended_s is not None:
            away[outage.store].append(outage.ended_s - outage.began_s)
    return {
        "scene": scene,
        "seed": seed,
        "took_s": round(took_s, 1),
        "faults": len(strikes),
        "survived": sum(strike.is_survived for strike in strikes),
        "by_kind": {kind: _recovery(struck) for kind, struck in sorted(kinds.items())},
        "away_s": {store: _spread(times) for store, times in sorted(away.items())},
        "answers": answers.by_status(),
        "slowest_refusal_s": round(answers.slowest_refusal_s(), 2),
    }


def lines(found: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a table of the figures."""
    yield f"\n  {found['survived']} of {found['faults']} faults survived in {found['took_s']:.0f} s"
    yield f"\n  {'fault':<20}{'times':>6}{'process back, s':>18}{'whole way works, s':>21}"
    yield f"  {'':<20}{'':>6}{'median':>9}{'max':>9}{'median':>12}{'max':>9}"
    for kind, of_kind in found["by_kind"].items():
        back, works = of_kind["back_s"], of_kind["works_s"]
        yield (
            f"  {kind:<20}{of_kind['times']:>6}{_cell(back, 'median'):>9}{_cell(back, 'max'):>9}"
            f"{_cell(works, 'median'):>12}{_cell(works, 'max'):>9}"
        )
    yield f"\n  {'away':<20}{'times':>6}{'median, s':>18}{'max, s':>9}"
    for store, spread in found["away_s"].items():
        yield f"  {store:<20}{spread['n']:>6}{_cell(spread, 'median'):>18}{_cell(spread, 'max'):>9}"
    yield "\n  answers by status (none: connection refused or broken)"
    for kind, statuses in found["answers"].items():
        yield f"  {kind:<20}" + "  ".join(f"{status}: {n}" for status, n in statuses.items())
    yield f"  the slowest 503 came after {found['slowest_refusal_s']:.1f} s\n"


def write_json(file: Path, scenes: Sequence[dict[str, Any]]) -> None:
    """Write the figures of all sieges."""
    file.write_text(json.dumps({"schema_version": "drill.v1", "scenes": list(scenes)}, indent=2) + "\n")


def _recovery(strikes: Sequence[Strike]) -> dict[str, Any]:
    return {
        "times": len(strikes),
        "survived": sum(strike.is_survived for strike in strikes),
        "back_s": _spread([each.back_s for each in strikes if each.place and each.back_s is not None]),
        "works_s": _spread([each.works_s for each in strikes if each.works_s is not None]),
    }


def _spread(times_s: Sequence[float]) -> dict[str, Any]:
    if not times_s:
        return {"n": 0, "median": None, "max": None}
    return {"n": len(times_s), "median": round(statistics.median(times_s), 2), "max": round(max(times_s), 2)}


def _cell(spread: dict[str, Any], name: str) -> str:
    return "-" if spread[name] is None else f"{spread[name]:.1f}"
