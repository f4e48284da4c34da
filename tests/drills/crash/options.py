"""Options of a drill."""

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

#: Run on one stack, one after the other.
SCENES_OF_ONE_STACK = (
    *("storm", "hint", "stall", "lagging", "rebuild", "outage", "turns", "faults", "disks", "reembed"),
)
#: Run each on a stack of its own, observed through HTTP alone.
SIEGES = ("siege", "servers", "cuts", "clocks")
SCENES = (*SCENES_OF_ONE_STACK, *SIEGES)
SAFEGUARDS = ("sweep", "fence", "readback", "generations")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a drill; the same options result in the same documents, edits and victims."""

    documents: int
    #: Number of processes to kill: during ingestion, and in the siege.
    kills: int
    siege_kills: int
    #: Maximum duration of a siege in seconds; the remaining strikes are skipped.
    limit_s: float
    #: Number of chunks in the workspace whose embedder is changed.
    chunks: int
    seed: int
    has_edits: bool
    scenes: tuple[str, ...]
    without: tuple[str, ...]
    #: Lease of a job, in seconds: the delay until another worker takes over the work of a killed one.
    lease_s: int
    #: Seconds without progress after which work counts as lost.
    patience_s: float
    #: Keep this data directory, for inspection of its logs.
    keep: Path | None
    #: File for the figures of sieges.
    json: Path | None

    @classmethod
    def parse(cls, arguments: Sequence[str]) -> Self:
        """Parse the arguments of a command line. Raises SystemExit."""
        values = vars(_parser().parse_args(arguments))
        if values["seed"] is None:
            values["seed"] = random.randrange(1_000_000)
        return cls(**{**values, "scenes": tuple(values["scenes"]), "without": tuple(values["without"])})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.drills.crash", description=__doc__)
    parser.add_argument("--documents", type=int, default=2_000, help="files to ingest")
    parser.add_argument("--kills", type=int, default=10, help="processes to kill during ingestion")
    parser.add_argument("--siege-kills", type=int, default=200, help="processes to kill in the siege")
    parser.add_argument("--limit-s", type=float, default=2_400.0, help="maximum duration of a siege's faults")
    parser.add_argument(
        "--chunks", type=int, default=2_000, help="chunks of the workspace whose embedder is changed"
    )
    parser.add_argument("--seed", type=int, help="seed of documents, edits and victims (random, and printed)")
    parser.add_argument("--no-edits", dest="has_edits", action="store_false", help="don't edit files")
    parser.add_argument(
        "--scenes", nargs="+", choices=SCENES, default=SCENES, metavar="S", help="/".join(SCENES)
    )
    parser.add_argument("--without", nargs="+", choices=SAFEGUARDS, default=(), help="safeguards to disable")
    parser.add_argument("--lease-s", type=int, default=6, help="KEBAB_LEASE_S of the stack")
    parser.add_argument("--patience-s", type=float, default=90.0, help="maximum time without progress")
    parser.add_argument("--keep", type=Path, help="data directory to use and keep")
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for the sieges' figures")
    return parser
