"""Advisory file locks, which the kernel releases when their holder dies, so none is ever stale."""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TextIO

_RETRY_S = 0.05
# `is_held` takes the lock for an instant.
_PATIENCE_S = 0.5


class HolderKind(StrEnum):
    """The kind of process that holds a data directory."""

    UP = "up"
    COMMAND = "verb"


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The process recorded as the holder of a lock."""

    pid: int
    kind: HolderKind


class StackLock:
    """The lock of a data directory: its holder runs the servers."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stream: TextIO | None = None

    @property
    def is_ours(self) -> bool:
        """Return whether this object holds the lock."""
        return self._stream is not None

    def acquire(self, kind: HolderKind) -> bool:
        """Acquire the lock and record its holder; return False if another process holds it."""
        stream = self._path.open("a+", encoding="utf-8")
        deadline = time.monotonic() + _PATIENCE_S
        while not _try_flock(stream, fcntl.LOCK_EX):
            if time.monotonic() > deadline:
                stream.close()
                return False
            time.sleep(_RETRY_S)
        stream.truncate(0)
        stream.write(json.dumps(asdict(Holder(pid=os.getpid(), kind=kind))))
        stream.flush()
        self._stream = stream
        return True

    def release(self) -> None:
        """Release the lock; do nothing if it is not held."""
        if self._stream is not None:
            self._stream.truncate(0)
            self._stream.close()
            self._stream = None

    def is_held(self) -> bool:
        """Return whether any process holds the lock."""
        try:
            with self._path.open("r", encoding="utf-8") as stream:
                return not _try_flock(stream, fcntl.LOCK_SH)
        except FileNotFoundError:
            return False

    def holder(self) -> Holder | None:
        """Return the holder of the lock; None if it is free, or not recorded yet."""
        if not self.is_held():
            return None
        try:
            document = json.loads(self._path.read_text(encoding="utf-8"))
            return Holder(pid=document["pid"], kind=HolderKind(document["kind"]))
        except (ValueError, KeyError):
            return None


@contextmanager
def hold_exclusively(path: Path) -> Iterator[None]:
    """Hold a lock file exclusively for the length of a block, after waiting for it."""
    with path.open("a", encoding="utf-8") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _try_flock(stream: TextIO, kind: int) -> bool:
    try:
        fcntl.flock(stream, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
