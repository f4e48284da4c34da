"""Send hostile requests to a stack of its own: `python -m tests.drills.hostile`. Exit status 1 on a fault."""

import argparse
import json
import os
import random
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.drills.hostile.attempt import Attempt
from tests.drills.hostile.attempts import probes, searches
from tests.drills.hostile.judge import Judge
from tests.drills.hostile.sender import Tally, ask_all, survey
from tests.support.stack import Stack, temporary_directory

_WORD = re.compile(r"\w{2,30}")
_MAX_WORDS = 5_000
_LOG_LINES = 200
_WORKSPACE = "hostile"


def main(arguments: Sequence[str]) -> int:
    """Ingest a folder, send the requests, print the report as JSON, and return the exit status."""
    options = _parser().parse_args(arguments)
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    stack = Stack(temporary_directory(), KEBAB_EMBEDDER=options.embedder)
    try:
        stack.up()
        tallies = _attack(stack, options, seed)
        if _faults(tallies):
            sys.stderr.write(stack.log("web", _LOG_LINES) + "\n")
    finally:
        stack.stop()
        stack.remove()
    json.dump(_report(tallies, seed), sys.stdout, indent=2)
    return 1 if _faults(tallies) else 0


def _attack(stack: Stack, options: argparse.Namespace, seed: int) -> dict[str, Tally]:
    folder: Path = options.path
    result = stack.run("ingest", str(folder), "--workspace", _WORKSPACE, "--create", "--json", limit_s=3_600)
    if result.returncode != 0:
        raise SystemExit(result.stderr)
    token = stack.run("token", "create", "--workspace", _WORKSPACE, "--scope", "search", "--json")
    headers = {"Authorization": f"Bearer {json.loads(token.stdout)['token']}"}
    judge = Judge(private=(str(stack.data_dir),))
    with httpx.Client(base_url=stack.url, headers=headers, timeout=60) as http:
        ground = survey(http, _WORKSPACE, words_of(folder))
        series = {"search": searches(options.n, seed, ground), "knock": probes(options.knocks, seed, ground)}
        return {
            name: ask_all(http, _select(name, attempts, options.only), judge, limit_s=options.limit_s)
            for name, attempts in series.items()
        }


def _select(series: str, attempts: Iterable[Attempt], only: str | None) -> Iterable[Attempt]:
    return (each for number, each in enumerate(attempts) if only in (None, f"{series}-{number}"))


def _faults(tallies: dict[str, Tally]) -> int:
    return sum(len(tally.faults) for tally in tallies.values())


def _report(tallies: dict[str, Tally], seed: int) -> dict[str, Any]:
    reports = {name: tally.document() for name, tally in tallies.items() if tally.n}
    return {"seed": seed, "load_average": os.getloadavg(), **reports}


def words_of(folder: Path) -> list[str]:
    """Return words of the folder's text, frequent ones more often."""
    found: list[str] = []
    for file in sorted(folder.rglob("*.md*")):
        found += _WORD.findall(file.read_text(encoding="utf-8", errors="replace"))
    return random.Random(0).sample(found, min(len(found), _MAX_WORDS))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.drills.hostile", description=__doc__)
    parser.add_argument("--n", type=int, default=10_000, help="number of searches")
    parser.add_argument("--knocks", type=int, default=3_000, help="number of requests to all endpoints")
    parser.add_argument("--seed", type=int, help="seed of the requests (random, and printed)")
    parser.add_argument("--only", help="send a single one, like search-7 or knock-0")
    parser.add_argument("--path", type=Path, default=Path(), help="folder to ingest (here)")
    parser.add_argument("--embedder", default="hash", help="KEBAB_EMBEDDER of the stack")
    parser.add_argument("--limit-s", type=float, default=3.0, help="time limit of an answer")
    return parser


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
