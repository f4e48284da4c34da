"""Read all files below a folder as a job would, and count what comes of them by format.

`python -m tests.drills.files FOLDER`, in which `tests.drills.files.collect` or a person put a folder for each
format. Words are compared with those of an independent reader. Exits with 1 if a file crashed every parser or
ran out of time, or if a format's median recall is below LEAST_MEDIAN.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kebab.settings")
django.setup()

# Imports need a configured Django.
from ingest.digest.pool import DigesterPool  # noqa: E402
from ingest.digest.types import Overrides, Submission  # noqa: E402
from tests.drills.files.report import Report  # noqa: E402


def main(arguments: list[str]) -> int:
    """Read the files, and print the report; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.drills.files", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    report = Report(options.folder)
    began = time.monotonic()
    with DigesterPool(options.processes) as pool:
        for group in pool.digest_groups(_submissions(options.folder)):
            for path, outcome in group:
                report.add(path, outcome)
    sys.stdout.writelines(f"{line}\n" for line in report.lines())
    sys.stdout.write(f"\n{time.monotonic() - began:.0f} s\n")
    return int(report.has_failed())


def _submissions(folder: Path) -> Iterator[Submission]:
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            path = file.relative_to(folder).as_posix()
            yield Submission(key=path, content=file.read_bytes(), path=path, overrides=Overrides())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
