"""Send generated requests to a stack of its own. Exit with status 1 on a fault."""

import argparse
import json
import random
import sys
from collections.abc import Sequence
from typing import Any

import requests
import schemathesis

from tests.drills.fuzzing.fuzz import Tally, fuzz
from tests.drills.fuzzing.pool import Pool
from tests.support.paths import ROOT
from tests.support.stack import Stack, temporary_directory

_WORKSPACE = "fuzzing"
_SCOPES = "search,ingest,ask"
_LOG_LINES = 200
_CORPUS = ROOT / "docs"


def main(arguments: Sequence[str]) -> int:
    """Run a stack, send the requests with an editor's token, and print the report."""
    options = _parser().parse_args(arguments)
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    stack = Stack(temporary_directory(), KEBAB_EMBEDDER="hash", KEBAB_RATE_LIMIT="1000000/minute")
    try:
        stack.up()
        tally = _attack(stack, options, seed)
        if tally.faults:
            sys.stderr.write(stack.log("web", _LOG_LINES) + "\n")
    finally:
        stack.stop()
        stack.remove()
    json.dump(_report(tally, seed), sys.stdout, indent=2)
    return 1 if tally.faults or tally.n < options.requests else 0


def _attack(stack: Stack, options: argparse.Namespace, seed: int) -> Tally:
    result = stack.run("workspace", "create", _WORKSPACE, "--json")
    if result.returncode != 0:
        raise SystemExit(result.stderr)
    result = stack.run("ingest", str(_CORPUS), "--workspace", _WORKSPACE, "--json")
    if result.returncode != 0:
        raise SystemExit(result.stderr)
    token = stack.run("token", "create", "--workspace", _WORKSPACE, "--scope", _SCOPES, "--json")
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {json.loads(token.stdout)['token']}"
    described = session.get(f"{stack.url}/api/schema/?format=json", timeout=60).json()
    return fuzz(
        schemathesis.openapi.from_dict(described),
        lambda case: case.call(base_url=stack.url, session=session, timeout=60),
        Pool(_WORKSPACE, seed),
        requests=options.requests,
        seed_number=seed,
        limit_s=options.limit_s,
    )


def _report(tally: Tally, seed: int) -> dict[str, Any]:
    return {
        "seed": seed,
        "requests": tally.n,
        "statuses": dict(sorted(tally.statuses.items())),
        "operations": {name: dict(sorted(each.items())) for name, each in sorted(tally.operations.items())},
        "faults": tally.faults,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.drills.fuzzing", description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000, help="minimum number of requests")
    parser.add_argument("--seed", type=int, help="seed of the requests (random, and printed)")
    parser.add_argument(
        "--limit-s", type=float, default=7_200.0, help="time limit; fewer requests are an error"
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
