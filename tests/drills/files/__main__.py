"""Read all files below a folder as a job would, and count what comes of them by format.

`python -m tests.drills.files FOLDER`. Exits with 1 if a file crashed every parser.
"""

import argparse
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")
django.setup()

# Imports need a configured Django.
from ingest.digest.pool import DigesterPool, Outcome  # noqa: E402
from ingest.digest.types import Overrides, Submission  # noqa: E402
from ingest.parsers.errors import ParseRefused  # noqa: E402
from ingest.parsers.file_types import extension_of  # noqa: E402

_COLUMNS = ("read", "by a simpler parser", "without text", "refused", "quarantined")


def main(arguments: list[str]) -> int:
    """Read the files, and print a table and what was not read; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.drills.files", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    told: list[str] = []
    began = time.monotonic()
    with DigesterPool(options.processes) as pool:
        for group in pool.digest_groups(_submissions(options.folder)):
            for path, outcome in group:
                result, why = _describe(outcome)
                counts[extension_of(path)][result] += 1
                told += [f"{result}: {path}: {why}"] if why else []
    _write_table(counts)
    sys.stdout.write("\n".join([f"\n{time.monotonic() - began:.0f} s", *sorted(told), ""]))
    return int(any(each["quarantined"] for each in counts.values()))


def _submissions(folder: Path) -> Iterator[Submission]:
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            path = file.relative_to(folder).as_posix()
            yield Submission(key=path, content=file.read_bytes(), path=path, overrides=Overrides())


def _describe(outcome: Outcome) -> tuple[str, str]:
    """Return the column of a result, and what is worth telling about it."""
    if isinstance(outcome, ParseRefused):
        return "refused", f"{outcome.code}: {outcome.detail}"
    if isinstance(outcome, Exception):
        return "quarantined", str(outcome)
    if not any(chunk.text for chunk in outcome.chunks):
        return "without text", "; ".join(outcome.warnings)
    is_fallback = any("parser failed" in warning for warning in outcome.warnings)
    return ("by a simpler parser" if is_fallback else "read"), "; ".join(outcome.warnings)[:300]


def _write_table(counts: dict[str, Counter[str]]) -> None:
    total: Counter[str] = sum(counts.values(), Counter())
    sys.stdout.write(f"| format | files | {' | '.join(_COLUMNS)} |\n|---|{'---|' * (len(_COLUMNS) + 1)}\n")
    for name, row in [*sorted(counts.items()), ("all", total)]:
        figures = [sum(row.values()), *(row[column] for column in _COLUMNS)]
        sys.stdout.write(f"| {name} | {' | '.join(map(str, figures))} |\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
