"""Sends hostile queries to a stack of its own: `python -m tests.hostile --help`. Exit status 1 on a fault."""

import argparse
import json
import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import httpx

from tests.drill.stack import Stack, temporary_directory
from tests.hostile.asking import Tally, ask_all, library_of
from tests.hostile.attempts import attempts

_WORD = re.compile(r"\w{2,30}")
_MAX_WORDS = 5_000
_LOG_LINES = 200
_WORKSPACE = "hostile"


def main(arguments: Sequence[str]) -> int:
    """Ingest a folder, send the queries, print the report as JSON, and give the exit status."""
    options = _parser().parse_args(arguments)
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    stack = Stack(temporary_directory(), KEBAB_EMBEDDER=options.embedder)
    try:
        stack.up()
        tally = _attack(stack, options, seed)
        if tally.faults:
            sys.stderr.write(stack.log("web", _LOG_LINES) + "\n")
    finally:
        stack.stop()
        stack.remove()
    json.dump({"seed": seed, **tally.document()}, sys.stdout, indent=2)
    return 1 if tally.faults else 0


def _attack(stack: Stack, options: argparse.Namespace, seed: int) -> Tally:
    folder: Path = options.path
    ingested = stack.run(
        "ingest", str(folder), "--workspace", _WORKSPACE, "--create", "--json", limit_s=3_600
    )
    if ingested.returncode != 0:
        raise SystemExit(ingested.stderr)
    made = stack.run("token", "create", "--workspace", _WORKSPACE, "--scope", "search", "--json")
    headers = {"Authorization": f"Bearer {json.loads(made.stdout)['token']}"}
    with httpx.Client(base_url=f"{stack.url}/api/v1", headers=headers, timeout=60) as http:
        requests = attempts(options.n, seed, words_of(folder), library_of(http, _WORKSPACE))
        chosen = [each for number, each in enumerate(requests) if options.only in (None, number)]
        return ask_all(http, _WORKSPACE, chosen, limit_s=options.limit_s)


def words_of(folder: Path) -> list[str]:
    """Give words of the folder's text, common ones more often."""
    found: list[str] = []
    for file in sorted(folder.rglob("*.md*")):
        found += _WORD.findall(file.read_text(encoding="utf-8", errors="replace"))
    return random.Random(0).sample(found, min(len(found), _MAX_WORDS))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--n", type=int, default=10_000, help="how many queries")
    parser.add_argument("--seed", type=int, help="of the queries (random, and printed)")
    parser.add_argument("--only", type=int, help="send this one of them alone, counted from 0")
    parser.add_argument("--path", type=Path, default=Path(), help="folder to ingest (here)")
    parser.add_argument("--embedder", default="hash", help="KEBAB_EMBEDDER of the stack")
    parser.add_argument("--limit-s", type=float, default=3.0, help="no answer may take longer")
    return parser


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
