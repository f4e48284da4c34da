"""Command that plays the scenes: `python -m tests.drills.hosts --help`. Exit status 1 on a violated claim."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from tests.drills.hosts.lab_setup import running_lab
from tests.drills.hosts.network import launcher, missing_requirement
from tests.drills.hosts.report import Report
from tests.drills.hosts.scenes import SCENES

_INSIDE = "--inside"


def main(arguments: Sequence[str]) -> int:
    """Play the scenes in a network of their own, and return the exit status."""
    options = _parser().parse_args(arguments)
    if not options.inside:
        missing = missing_requirement()
        if missing is not None:
            raise SystemExit(missing)
        command = [*launcher(), sys.executable, "-m", "tests.drills.hosts", *arguments, _INSIDE]
        os.execvp(command[0], command)  # noqa: S606 - becoming the program inside is the purpose
    signal.signal(signal.SIGTERM, _exit_on_signal)
    report = Report(options.report, patience=options.patience)
    with running_lab(report) as lab:
        for name in options.scenes:
            report.begin(name)
            SCENES[name](lab, options.flap_s)
    return report.conclude()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.drills.hosts", description=__doc__)
    parser.add_argument("--scenes", nargs="+", choices=list(SCENES), default=list(SCENES), metavar="SCENE")
    parser.add_argument("--flap-s", type=float, default=60.0, help="duration of link flapping (60)")
    parser.add_argument("--patience", type=float, default=1.0, help="factor on all time limits (1)")
    parser.add_argument("--report", type=Path, help="file for claims and figures, as JSON")
    parser.add_argument(_INSIDE, action="store_true", help=argparse.SUPPRESS)
    return parser


def _exit_on_signal(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
