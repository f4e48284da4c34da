"""The lock file of a data directory, with a record of its holder."""

import json
import os
import time
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TextIO

from kebab.runtime.durable_files import is_locked, lock_within

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
        if not lock_within(stream.fileno(), time.monotonic() + _PATIENCE_S, retry_s=_RETRY_S):
            stream.close()
            return False
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
        return is_locked(self._path) is True

    def holder(self) -> Holder | None:
        """Return the holder of the lock; None if it is free, or not recorded yet."""
        if not self.is_held():
            return None
        try:
            document = json.loads(self._path.read_text(encoding="utf-8"))
            return Holder(pid=document["pid"], kind=HolderKind(document["kind"]))
        except (ValueError, KeyError):
            return None
