"""Command that plays the scenes: `python -m tests.drills.cluster --help`. Exit status 1 on a failure."""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import httpx
import psycopg

from tests.drills.cluster.cluster import running_cluster
from tests.drills.cluster.machines import missing_requirement, versions
from tests.drills.cluster.scenes import SCENES, play
from tests.drills.hosts.network import launcher
from tests.drills.hosts.network import missing_requirement as missing_namespaces
from tests.drills.hosts.report import Report
from tests.support.stack import GaveUp

_INSIDE = "--inside"


def main(arguments: Sequence[str]) -> int:
    """Play the scenes, by root in a network of their own, and return the exit status."""
    options = _parser().parse_args(arguments)
    missing = missing_requirement()
    if missing is not None:
        raise SystemExit(missing)
    if os.geteuid() == 0 and not options.inside and missing_namespaces() is None:
        command = [*launcher(), sys.executable, "-m", "tests.drills.cluster", *arguments, _INSIDE]
        os.execvp(command[0], command)  # noqa: S606 - becoming the program inside is the purpose
    if options.inside:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)  # noqa: S607 - as the user finds it
    signal.signal(signal.SIGTERM, _exit_on_signal)
    report = Report(options.json)
    report.begin("start")
    for server, version in versions().items():
        report.measure(server, version)
    try:
        with running_cluster(report, reads_from_standbys=options.reads_from_standbys) as cluster:
            for name in options.scenes:
                report.begin(name)
                try:
                    play(cluster, name, options)
                except (GaveUp, httpx.HTTPError, psycopg.Error) as error:
                    report.claim("the scene ends", [repr(error)])
    finally:
        print(table(report))  # noqa: T201 - what the drill is for
        status = report.conclude()
    return status


def table(report: Report) -> str:
    """Return the figures and the verdict of each scene, as a table of Markdown."""
    lines = [
        "",
        "| scene | gap of writes, s | gap of searches, s | failed searches, % | acknowledged | lost | |",
    ]
    lines += ["|---|---|---|---|---|---|---|"]
    names = (
        "gap of writes in s",
        "gap of searches in s",
        "failed searches in percent",
        "acknowledged writes",
        "lost",
    )
    for scene, claims in report.violations.items():
        if scene in SCENES:
            cells = [str(report.measured[scene].get(name, "-")) for name in names]
            lines.append(f"| {scene} | {' | '.join(cells)} | {'failed' if any(claims.values()) else 'ok'} |")
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.drills.cluster", description=__doc__)
    parser.add_argument("--scenes", nargs="+", choices=list(SCENES), default=list(SCENES), metavar="SCENE")
    parser.add_argument(
        "--write-gap-s", type=float, default=60.0, help="longest time in which no write succeeds (60)"
    )
    parser.add_argument(
        "--search-gap-s", type=float, default=60.0, help="longest time in which no search succeeds (60)"
    )
    parser.add_argument(
        "--failed-searches",
        type=float,
        default=100.0,
        help="share of searches that may fail in percent (100)",
    )
    parser.add_argument(
        "--reads-from-standbys",
        action="store_true",
        help="set KEBAB_DATABASE_READ_URL to the address of the standbys",
    )
    parser.add_argument("--json", type=Path, help="file for claims and figures")
    parser.add_argument(_INSIDE, action="store_true", help=argparse.SUPPRESS)
    return parser


def _exit_on_signal(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
