"""Measure the capacity of a stack, growth at 70 % of it, and the remaining throughput at 300 % of it.

The clients share the machine's processors. Exit status 1 when something grew, or more answers failed than the
limits permit.
"""

import argparse
import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import django

from tests.support.paths import ROOT
from tests.support.stack import Stack, temporary_directory

_CAPACITY_CLIENTS = (8, 16)
_CAPACITY_S = 45.0
# Stored rankings of cursors are kept for sixteen minutes, and checkpoints are fifteen minutes apart.
_SETTLE_MINUTES = 16.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of one run; the same seed draws the same requests."""

    minutes: float
    settle_minutes: float
    overload_s: float
    attacked: bool
    sizes: tuple[int, ...]
    seed: int
    embedder: str
    text: Path
    report: Path | None


def main(arguments: Sequence[str]) -> int:
    """Run, print the results, and return the exit status."""
    options = _parse(arguments)
    signal.signal(signal.SIGTERM, _exit_on_signal)
    stack = Stack(temporary_directory(), KEBAB_EMBEDDER=options.embedder, KEBAB_RATE_LIMIT="10000000/minute")
    try:
        stack.up()
        os.environ.update(stack.environment, KEBAB_LOG_LEVEL="ERROR")
        os.environ["DJANGO_SETTINGS_MODULE"] = "kebab.settings"
        django.setup()
        return _run(stack, options)
    finally:
        stack.stop()
        stack.remove()


def _run(stack: Stack, options: Options) -> int:
    from kebab.tenancy.current_workspace import acting_everywhere
    from search.evaluation.record import describe_machine
    from tests.drills.load.stages import Stages
    from tests.drills.load.workspaces import fill

    _say(f"Filling {len(options.sizes)} workspaces ...")
    with acting_everywhere():
        places = fill(stack, options.text, options.sizes, _say)
    stages = Stages(stack, places, attacked=options.attacked, seed=options.seed, say=_say)
    found = asyncio.run(
        stages.play(
            clients=_CAPACITY_CLIENTS,
            capacity_s=_CAPACITY_S,
            settle_s=60 * options.settle_minutes,
            steady_s=60 * options.minutes,
            overload_s=options.overload_s,
        )
    )
    found["conditions"] = {**describe_machine(), "embedder": options.embedder, "chunks": list(options.sizes)}
    if options.report is not None:
        _write(options.report, found)
        if found["complaints"]:
            shutil.copytree(stack.data_dir / "logs", options.report / "logs", dirs_exist_ok=True)
    for complaint in found["complaints"]:
        _say(f"VIOLATED  {complaint}")
    _say("FAILED" if found["complaints"] else "PASSED")
    return 1 if found["complaints"] else 0


def _write(folder: Path, found: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "load.json").write_text(json.dumps(found) + "\n")
    try:
        from tests.drills.load.plots import draw
    except ModuleNotFoundError as error:
        _say(f"No plots: {error}; install deploy/requirements-peers.txt.")
    else:
        draw(folder, found)


def _parse(arguments: Sequence[str]) -> Options:
    parser = argparse.ArgumentParser(prog="python -m tests.drills.load", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="duration of the steady load")
    parser.add_argument(
        "--settle-minutes", type=float, default=_SETTLE_MINUTES, help="duration before it is measured"
    )
    parser.add_argument(
        "--attacked", action="store_true", help="let clients misbehave on sockets during the steady load"
    )
    parser.add_argument("--overload-s", type=float, default=120.0, help="duration of the overload")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[20_000, 8_000, 2_000, 300], help="chunks of the workspaces"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--embedder", default="default", help="KEBAB_EMBEDDER of the stack")
    parser.add_argument("--text", type=Path, default=ROOT / "docs", help="folder to recombine text from")
    parser.add_argument(
        "--report", type=Path, help="folder for load.json, the plots, and the logs of a failure"
    )
    values = vars(parser.parse_args(arguments))
    return Options(**{**values, "sizes": tuple(values["sizes"])})


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _exit_on_signal(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
