"""Where a mirror's files lie: generations, the pointer to the current one, the writer's lock.

<mirrors>/<workspace uuid>/
    CURRENT              name of the published generation; replaced atomically
    writer.lock          flock: one writer per node and workspace
    <generation>.sqlite3
    <generation>.tmp     a rebuild under way; never opened by readers
"""

import contextlib
import fcntl
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from search.mirror.errors import MirrorAbsent, MirrorBusy

# Readers that opened an old generation have long finished by then.
_GRACE_S = 60.0
# More than the name of a generation takes.
_POINTER_BYTES = 256


@dataclass(frozen=True, slots=True)
class MirrorFiles:
    """The files of one workspace's mirror on this node. The path comes from the UUID alone."""

    directory: Path

    @classmethod
    def of(cls, root: Path, workspace_id: uuid.UUID) -> "MirrorFiles":
        """Give the files of `workspace_id` below `root`."""
        return cls(root / str(workspace_id))

    def current(self) -> Path:
        """Give the published generation. Raises MirrorAbsent."""
        try:
            name = _read(f"{self.directory}/CURRENT").decode().strip()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise MirrorAbsent(f"No mirror is published in {self.directory.name}.") from error
        return self.directory / name

    @contextmanager
    def writing(self, wait_s: float = 0.0) -> Iterator[None]:
        """Hold the writer's lock. Raises MirrorBusy when it isn't free within `wait_s`."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.directory / "writer.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            _lock(descriptor, wait_s)
            yield
        finally:
            os.close(descriptor)

    def unpublished(self) -> Path:
        """Give the path for a rebuild. Left-overs of one that was killed are removed; hold the lock."""
        self._remove_unpublished()
        return self.directory / f"{uuid.uuid4().hex}.tmp"

    def _remove_unpublished(self) -> None:
        for leftover in self.directory.glob("*.tmp*"):
            leftover.unlink(missing_ok=True)

    def publish(self, built: Path) -> Path:
        """Make a complete, closed file the current generation. Readers switch with their next search."""
        generation = built.with_suffix(".sqlite3")
        _sync_to_disk(built)
        built.rename(generation)
        pointer = self.directory / "CURRENT.new"
        pointer.write_text(generation.name)
        _sync_to_disk(pointer)
        pointer.replace(self.directory / "CURRENT")
        _sync_to_disk(self.directory)
        return generation

    def withdraw(self, generation: Path) -> None:
        """Publish nothing any more if `generation` is current: it is damaged, the next sync makes another."""
        with contextlib.suppress(MirrorAbsent, FileNotFoundError):
            if self.current() == generation:
                (self.directory / "CURRENT").unlink()

    def remove_old(self, grace_s: float = _GRACE_S) -> bool:
        """Remove generations that were replaced more than `grace_s` ago; hold the lock.

        What a killed rebuild has left goes at once. Gives whether the current generation is alone now.
        """
        self._remove_unpublished()
        current = self.current().name
        old = [path for path in self.directory.glob("*.sqlite3*") if not path.name.startswith(current)]
        pointer_age_s = time.time() - (self.directory / "CURRENT").stat().st_mtime
        if pointer_age_s < grace_s:
            return not old
        for path in old:
            path.unlink(missing_ok=True)
        return True

    def remove_all(self) -> None:
        """Remove the mirror altogether, as when its workspace is deleted."""
        shutil.rmtree(self.directory, ignore_errors=True)


def workspaces_on_this_node(root: Path) -> list[uuid.UUID]:
    """Give the workspaces that have a mirror below `root`."""
    if not root.is_dir():
        return []
    return [uuid.UUID(entry.name) for entry in root.iterdir() if _is_workspace(entry)]


def _is_workspace(entry: Path) -> bool:
    try:
        uuid.UUID(entry.name)
    except ValueError:
        return False
    return entry.is_dir()


def _read(path: str) -> bytes:
    """Read a short file: each search does, several times, and `open` takes three times as long."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _POINTER_BYTES)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, wait_s: float) -> None:
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise MirrorBusy("Another process of this node is writing this mirror.") from error
            time.sleep(0.005)
        else:
            return


def _sync_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
