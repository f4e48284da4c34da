"""Plays and checks a history: `python -m tests.drills.consistency --help`. Exit status 1 on a violation."""

import argparse
import json
import random
import signal
import sys
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from types import FrameType
from typing import Any

from kebab.stack.paths import DataDirectory
from search.mirror.files import MirrorFiles
from tests.drills.consistency.checker import violations
from tests.drills.consistency.history import History
from tests.drills.consistency.nodes import two_nodes
from tests.drills.consistency.play import Place, play
from tests.support.stack import Stack

_SLUG = "registers"
_SCOPES = "search,ingest"
_SHOWN = 5


def main(arguments: Sequence[str]) -> int:
    """Play, check, print the report and give the exit status."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _leave)
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    with two_nodes() as (first, second):
        place = _place(first, second)
        began_s = time.monotonic()
        history = play(place, operations=options.operations, seed=seed)
        played_s = time.monotonic() - began_s
    return _report(history, seed, played_s)


def _place(first: Stack, second: Stack) -> Place:
    workspace = _verb(first, "workspace", "create", _SLUG)
    made = _verb(first, "token", "create", "--workspace", _SLUG, "--scope", _SCOPES)
    mirrors = DataDirectory(second.data_dir).mirrors
    return Place(
        urls={"a": first.url, "b": second.url},
        slug=_SLUG,
        token=made["token"],
        mirror=MirrorFiles.of(mirrors, uuid.UUID(workspace["id"])),
    )


def _verb(stack: Stack, *arguments: str) -> Any:
    done = stack.run(*arguments, "--json")
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def _report(history: History, seed: int, played_s: float) -> int:
    _say(f"seed {seed}: {history.size} operations in {played_s:.0f} s")
    for line in _figures(history):
        _say(f"  {line}")
    began_s = time.monotonic()
    found = {**violations(history), "every request is answered, or refused in so many words": history.errors}
    for claim, against in found.items():
        _say(f"  {'VIOLATED' if against else 'ok      '}  {claim}")
        for each in against[:_SHOWN]:
            _say(f"            {each}")
    count = sum(map(len, found.values()))
    _say(f"checked in {time.monotonic() - began_s:.1f} s: {count} violations")
    return 1 if count else 0


def _figures(history: History) -> list[str]:
    writes = Counter("deletions" if write.word is None else "puts" for write in history.writes)
    named = [search for search in history.searches if search.min_seq is not None]
    gone = [search for search in history.searches if not search.is_whole]
    return [
        f"{writes['puts']} puts, {writes['deletions']} deletions, {len(history.reads)} reads,"
        f" {len(history.searches)} searches, {len(named)} of them with min_seq",
        f"{sum(search.lag > 0 for search in history.searches)} answers with lag, {len(gone)} not whole,"
        f" refused: {history.refusals or 'none'}",
        f"{sum(not write.is_certain for write in history.writes)} writes of which nobody knows",
    ]


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - what the report is for


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.drills.consistency", description=__doc__)
    parser.add_argument("--operations", type=int, default=10_000, help="how many in all (10,000)")
    parser.add_argument("--seed", type=int, help="of who does what (random, and printed)")
    return parser


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
