"""Send generated and adversarial requests to a stack of its own. Exit with status 1 on a fault."""

import argparse
import json
import os
import random
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import django
import requests
import schemathesis

from tests.drills.fuzzing.fuzz import Tally, fuzz
from tests.drills.fuzzing.pool import Pool
from tests.support.paths import ROOT
from tests.support.stack import Stack, temporary_directory

if TYPE_CHECKING:
    from tests.drills.fuzzing.adversary import Findings

_WORKSPACE = "fuzzing"
_SCOPES = "search,ingest,ask"
_LOG_LINES = 200
_CORPUS = ROOT / "docs"
_SETTINGS = {
    "KEBAB_EMBEDDER": "hash",
    "KEBAB_RATE_LIMIT": "1000000/minute",
    "KEBAB_BAD_TOKEN_LIMIT": "1000000/minute",
    "KEBAB_QUOTA_JOBS": "0",
}


def main(arguments: Sequence[str]) -> int:
    """Run a stack, send it the requests, and print the report."""
    options = _parser().parse_args(arguments)
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    stack = Stack(temporary_directory(), **_SETTINGS)
    try:
        stack.up()
        tally, findings = _fuzz(stack, options, seed), _attack(stack, options, seed)
        if tally.faults or findings.faults:
            sys.stderr.write(stack.log("web", _LOG_LINES) + "\n")
    finally:
        stack.stop()
        stack.remove()
    json.dump({"seed": seed, **_report(tally), "adversarial": findings.report()}, sys.stdout, indent=2)
    is_short = tally.n < options.requests or findings.n < options.adversarial
    return 1 if tally.faults or findings.faults or is_short else 0


def _fuzz(stack: Stack, options: argparse.Namespace, seed: int) -> Tally:
    """Send requests made up from the API's description, with an editor's token."""
    if not options.requests:
        return Tally()
    for command in (("workspace", "create", _WORKSPACE), ("ingest", str(_CORPUS), "--workspace", _WORKSPACE)):
        result = stack.run(*command, "--json")
        if result.returncode != 0:
            raise SystemExit(result.stderr)
    token = stack.run("token", "create", "--workspace", _WORKSPACE, "--scope", _SCOPES, "--json")
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {json.loads(token.stdout)['token']}"
    return fuzz(
        schemathesis.openapi.from_dict(_description(stack)),
        lambda case: case.call(base_url=stack.url, session=session, timeout=60),
        Pool(_WORKSPACE, seed),
        requests=options.requests,
        seed_number=seed,
        limit_s=options.limit_s,
    )


def _attack(stack: Stack, options: argparse.Namespace, seed: int) -> "Findings":
    """Send adversarial requests to all routes, as the owner of a workspace that this process creates."""
    os.environ.update(stack.environment, DJANGO_SETTINGS_MODULE="kebab.settings")
    django.setup()
    from kebab.tenancy.current_workspace import acting_everywhere
    from tests.drills.fuzzing.adversary import attack
    from tests.drills.fuzzing.cost import Meter
    from tests.drills.fuzzing.stage import callers_of, create_target

    with acting_everywhere():
        target = create_target()
        callers = callers_of(target)
    return attack(
        schemathesis.openapi.from_dict(_description(stack)),
        Meter(stack),
        target.pool,
        callers=callers,
        seed_number=seed,
        requests=options.adversarial,
        limit_s=options.limit_s,
        wait_limit_s=options.wait_limit_s,
    )


def _description(stack: Stack) -> Any:
    return requests.get(f"{stack.url}/api/schema/?format=json", timeout=60).json()


def _report(tally: Tally) -> dict[str, Any]:
    return {
        "requests": tally.n,
        "statuses": dict(sorted(tally.statuses.items())),
        "operations": {name: dict(sorted(each.items())) for name, each in sorted(tally.operations.items())},
        "faults": tally.faults,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.drills.fuzzing", description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000, help="minimum number of generated requests")
    parser.add_argument(
        "--adversarial", type=int, default=20_000, help="number of adversarial requests of up to 1 MB"
    )
    parser.add_argument("--seed", type=int, help="seed of the requests (random, and printed)")
    parser.add_argument(
        "--limit-s", type=float, default=7_200.0, help="time limit of each; fewer requests are an error"
    )
    parser.add_argument(
        "--wait-limit-s",
        type=float,
        default=3.0,
        help="longest wait for the answer to an adversarial request; a busy machine needs more",
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
