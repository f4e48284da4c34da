"""The files in which a process counts, and those of the processes that live.

<data directory>/run/metrics/
    <role>-<pid>-<random>.keys       JSON lines: the process, families, series with their slots; locked while
                                     it lives, so that no reused pid is taken for it
    <role>-<pid>-<random>.values     its numbers, as doubles in the machine's order

The files of a dead process are removed by whoever looks next: a sum that falls would be taken for a restart.
"""

import errno
import fcntl
import json
import mmap
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from kebab.observability.metrics.metric import Family

#: Numbers of one process, half a megabyte: each route with each method and status takes some twenty. What it
#: counts beyond them is dropped.
N_SLOTS = 65_536
_PRIVATE = 0o700
_UNSAFE = re.compile(r"[^A-Za-z0-9_]")
_BEING_MADE_S = 60.0


def metrics_folder() -> Path:
    """Return the folder in which the processes of this node count."""
    from django.conf import settings

    folder: Path = settings.KEBAB_METRICS_DIR
    return folder


class OwnFiles:
    """Where this process counts. `numbers` is memory that is shared with those who read it."""

    def __init__(self, keys: int, numbers: "memoryview[float]", shared: mmap.mmap) -> None:
        self._keys = keys
        self.numbers = numbers
        self._shared = shared
        self._named: dict[str, int] = {}

    @classmethod
    def make(cls, folder: Path, role: str) -> Self:
        """Make them, and remove what the dead have left. Raises OSError."""
        folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        remove_dead(folder)
        stem = f"{_UNSAFE.sub('-', role)}-{os.getpid()}-{secrets.token_hex(4)}"
        shared = _shared_memory(folder / f"{stem}.values")
        # Locked before it has the name that others look for.
        unnamed = folder / f"{stem}.new"
        keys = os.open(unnamed, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        fcntl.flock(keys, fcntl.LOCK_EX)
        made = cls(keys, memoryview(shared).cast("d"), shared)
        made._write(["process", {"role": role, "pid": os.getpid(), "pids": pid_namespace()}])
        unnamed.rename(folder / f"{stem}.keys")
        return made

    def name_series(self, family: Family, values: tuple[str, ...], slot: int) -> bool:
        """Return whose numbers begin at `slot`; False when that can't be written."""
        try:
            if family.name not in self._named:
                self._write(["family", asdict(family)])
                self._named[family.name] = len(self._named)
            self._write(["series", self._named[family.name], slot, values])
        except OSError:
            return False
        return True

    def let_go(self) -> None:
        """Close them without a word to whoever shares them, as after a fork."""
        os.close(self._keys)
        self.numbers.release()
        with suppress(BufferError):  # somebody is reading: it goes with them
            self._shared.close()

    def _write(self, line: list[Any]) -> None:
        size_bytes = os.fstat(self._keys).st_size
        text = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        if os.write(self._keys, text) != len(text):
            os.ftruncate(self._keys, size_bytes)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _shared_memory(path: Path) -> mmap.mmap:
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        # Written and not only made that long: memory over a hole in a file ends the process on a full disk.
        if os.write(descriptor, bytes(8 * N_SLOTS)) != 8 * N_SLOTS:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        return mmap.mmap(descriptor, 8 * N_SLOTS)
    finally:
        os.close(descriptor)


def living(folder: Path) -> Iterator[Path]:
    """Return the `.keys` of each process that lives."""
    for keys in sorted(folder.glob("*.keys")):
        if _is_held(keys):
            yield keys


def remove_dead(folder: Path) -> None:
    """Remove the files of processes that have ended, and of such as never came to count."""
    for keys in (*folder.glob("*.keys"), *folder.glob("*.new")):
        if _is_held(keys) is False and not (keys.suffix == ".new" and _is_fresh(keys)):
            keys.unlink(missing_ok=True)
            keys.with_suffix(".values").unlink(missing_ok=True)
    for values in folder.glob("*.values"):
        owners = (values.with_suffix(".keys"), values.with_suffix(".new"))
        if not any(owner.exists() for owner in owners) and not _is_fresh(values):
            values.unlink(missing_ok=True)


def _is_fresh(path: Path) -> bool:
    """Return whether somebody may just be making it."""
    with suppress(FileNotFoundError):
        return time.time() - path.stat().st_mtime < _BEING_MADE_S
    return False


def pid_namespace() -> str:
    """Name the space that pids of this process are of: in another container the same ones are others'."""
    with suppress(OSError):
        return str(Path("/proc/self/ns/pid").readlink())
    return ""


def _is_held(path: Path) -> bool | None:
    """Return whether somebody has locked it; None when it is gone, or has been given its name meanwhile."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        # Shared: two who look at once don't take each other for the owner.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
