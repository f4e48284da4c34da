"""Play and check a history: `python -m tests.drills.consistency --help`. Exit status 1 on a violation."""

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
from tests.drills.consistency.play import Cluster, play
from tests.support.stack import Stack

_SLUG = "registers"
_SCOPES = "search,ingest"
_SHOWN = 5


def main(arguments: Sequence[str]) -> int:
    """Play and check a history, print the report, and return the exit status."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _exit_on_signal)
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    with two_nodes() as (first, second):
        place = _cluster(first, second)
        began_s = time.monotonic()
        history = play(place, operations=options.operations, seed=seed)
        played_s = time.monotonic() - began_s
    return _report(history, seed, played_s)


def _cluster(first: Stack, second: Stack) -> Cluster:
    workspace = _run_command(first, "workspace", "create", _SLUG)
    token = _run_command(first, "token", "create", "--workspace", _SLUG, "--scope", _SCOPES)
    mirrors = DataDirectory(second.data_dir).mirrors
    return Cluster(
        urls={"a": first.url, "b": second.url},
        slug=_SLUG,
        token=token["token"],
        mirror=MirrorFiles.of(mirrors, uuid.UUID(workspace["id"])),
    )


def _run_command(stack: Stack, *arguments: str) -> Any:
    done = stack.run(*arguments, "--json")
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def _report(history: History, seed: int, played_s: float) -> int:
    _say(f"seed {seed}: {history.size} operations in {played_s:.0f} s")
    for line in _figures(history):
        _say(f"  {line}")
    began_s = time.monotonic()
    found = {**violations(history), "every request is answered, or rejected with Retry-After": history.errors}
    for claim, against in found.items():
        _say(f"  {'VIOLATED' if against else 'ok      '}  {claim}")
        for each in against[:_SHOWN]:
            _say(f"            {each}")
    count = sum(map(len, found.values()))
    _say(f"checked in {time.monotonic() - began_s:.1f} s: {count} violations")
    return 1 if count else 0


def _figures(history: History) -> list[str]:
    writes = Counter("deletions" if write.word is None else "puts" for write in history.writes)
    with_min_seq = [search for search in history.searches if search.min_seq is not None]
    lagging = [search for search in history.searches if search.lag > 0]
    incomplete = [search for search in history.searches if not search.is_whole]
    return [
        f"{writes['puts']} puts, {writes['deletions']} deletions, {len(history.reads)} reads,"
        f" {len(history.searches)} searches, {len(with_min_seq)} of them with min_seq",
        f"{len(lagging)} answers with lag, {len(incomplete)} incomplete,"
        f" rejected: {history.refusals or 'none'}",
        f"{sum(not write.is_certain for write in history.writes)} writes with unknown result",
    ]


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - what the report is for


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.drills.consistency", description=__doc__)
    parser.add_argument("--operations", type=int, default=10_000, help="total number of operations (10,000)")
    parser.add_argument("--seed", type=int, help="seed of the operations (random, and printed)")
    return parser


def _exit_on_signal(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
