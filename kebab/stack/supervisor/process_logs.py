"""Log files of the supervised processes, bounded in size."""

import shutil
from pathlib import Path
from typing import BinaryIO

LOG_LIMIT_BYTES = 10_000_000
_TAIL_BYTES = 2_000


def limit_log(path: Path, limit_bytes: int = LOG_LIMIT_BYTES) -> None:
    """Copy a log file to `<name>.1` and truncate it once it is longer than the limit.

    The file itself stays: its writers append, and continue at its new end. A line written in between may be
    lost.
    """
    if path.exists() and path.stat().st_size > limit_bytes:
        shutil.copyfile(path, path.with_name(f"{path.name}.1"))
        with path.open("r+b") as stream:
            stream.truncate(0)


def open_log(path: Path) -> BinaryIO:
    """Open a log file for appending, after limiting its size."""
    limit_log(path)
    return path.open("ab")


def log_tail(path: Path) -> str:
    """Return the last lines of a log, for an error message; at most 2,000 bytes."""
    if not path.exists():
        return ""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return stream.read().decode(errors="replace").strip()
