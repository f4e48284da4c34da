"""Metrics and the files of processes that hold them.

<data directory>/run/metrics/
    <role>-<pid>-<random>.keys       JSON lines: the process, families, series with their slots; locked while
                                     the process lives, so that a reused pid is not mistaken for it
    <role>-<pid>-<random>.values     its numbers, as doubles in the machine's order

The next reader deletes the files of a dead process. Its series are not merged into a sum, as a falling sum
would be taken for a restart.
"""

import errno
import json
import mmap
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

from kebab.runtime.durable_files import is_locked, lock

Kind = Literal["counter", "gauge", "histogram"]

_families: dict[str, "Family"] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A metric family; its series differ in their label values."""

    #: The exposed name: counters end in `_total`, units are seconds and bytes.
    name: str
    help: str
    kind: Kind
    labels: tuple[str, ...] = ()
    #: The upper bounds of a histogram's buckets, without the infinite one; ascending.
    bounds: tuple[float, ...] = ()

    @property
    def n_slots(self) -> int:
        """Return the numbers per series: for a histogram its buckets, the infinite one, and the sum."""
        return len(self.bounds) + 2 if self.kind == "histogram" else 1


def declare(family: Family) -> Family:
    """Register a family, so that it is exposed before anything is counted; return it."""
    return _families.setdefault(family.name, family)


def declared_families() -> dict[str, Family]:
    """Return the registered families of this process, by name."""
    return dict(_families)


#: Numbers of one process, half a megabyte: each route with each method and status takes some twenty. Further
#: series are dropped.
N_SLOTS = 65_536
_PRIVATE = 0o700
_UNSAFE = re.compile(r"[^A-Za-z0-9_]")
_CREATION_S = 60.0


def metrics_folder() -> Path:
    """Return the folder with the metrics files of this node's processes."""
    from django.conf import settings

    folder: Path = settings.KEBAB_METRICS_DIR
    return folder


class ProcessFiles:
    """The metrics files of this process. `numbers` is memory that is shared with readers."""

    def __init__(self, keys: int, numbers: "memoryview[float]", shared: mmap.mmap) -> None:
        self._keys = keys
        self.numbers = numbers
        self._shared = shared
        self._family_numbers: dict[str, int] = {}

    @classmethod
    def create(cls, folder: Path, role: str) -> Self:
        """Create the files, and delete those of dead processes. Raises OSError."""
        folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        delete_dead_files(folder)
        stem = f"{_UNSAFE.sub('-', role)}-{os.getpid()}-{secrets.token_hex(4)}"
        shared = _create_shared_memory(folder / f"{stem}.values")
        # Locked before it gets the name that readers look for.
        unnamed = folder / f"{stem}.new"
        keys = os.open(unnamed, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        lock(keys)
        files = cls(keys, memoryview(shared).cast("d"), shared)
        files._write(["process", {"role": role, "pid": os.getpid(), "pids": pid_namespace()}])
        unnamed.rename(folder / f"{stem}.keys")
        return files

    def append_series(self, family: Family, values: tuple[str, ...], slot: int) -> bool:
        """Append the series whose numbers begin at `slot`; return False when it can't be written."""
        try:
            if family.name not in self._family_numbers:
                self._write(["family", asdict(family)])
                self._family_numbers[family.name] = len(self._family_numbers)
            self._write(["series", self._family_numbers[family.name], slot, values])
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Close the files without any change of them, as in a forked child."""
        os.close(self._keys)
        self.numbers.release()
        with suppress(BufferError):  # a reader holds it and closes it
            self._shared.close()

    def _write(self, line: list[Any]) -> None:
        size_bytes = os.fstat(self._keys).st_size
        text = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        if os.write(self._keys, text) != len(text):
            os.ftruncate(self._keys, size_bytes)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _create_shared_memory(path: Path) -> mmap.mmap:
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        # Written, not truncated to this size: on a full disk, memory over a hole in a file ends the process.
        if os.write(descriptor, bytes(8 * N_SLOTS)) != 8 * N_SLOTS:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        return mmap.mmap(descriptor, 8 * N_SLOTS)
    finally:
        os.close(descriptor)


def live_key_files(folder: Path) -> Iterator[Path]:
    """Yield the `.keys` file of each living process."""
    for keys in sorted(folder.glob("*.keys")):
        if is_locked(keys):
            yield keys


def delete_dead_files(folder: Path) -> None:
    """Delete the files of processes that have ended, and files whose creation was interrupted."""
    for keys in (*folder.glob("*.keys"), *folder.glob("*.new")):
        if is_locked(keys) is False and not (keys.suffix == ".new" and _is_fresh(keys)):
            keys.unlink(missing_ok=True)
            keys.with_suffix(".values").unlink(missing_ok=True)
    for values in folder.glob("*.values"):
        owners = (values.with_suffix(".keys"), values.with_suffix(".new"))
        if not any(owner.exists() for owner in owners) and not _is_fresh(values):
            values.unlink(missing_ok=True)


def _is_fresh(path: Path) -> bool:
    """Return whether the file may still be in creation."""
    with suppress(FileNotFoundError):
        return time.time() - path.stat().st_mtime < _CREATION_S
    return False


def pid_namespace() -> str:
    """Return the pid namespace of this process: in another container the same pid is another process."""
    with suppress(OSError):
        return str(Path("/proc/self/ns/pid").readlink())
    return ""
