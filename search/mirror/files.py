"""Where a mirror's files lie: generations, the pointer to the current one, the writer's lock.

<mirrors>/<workspace uuid>/
    CURRENT              name of the published generation; replaced atomically
    USED                 empty; its time is when a search last used the mirror, to a minute
    CHECKED              empty; its time is when its indexes were last compared with its text
    writer.lock          flock: one writer per node and workspace
    <generation>.sqlite3
    <generation>.tmp     a rebuild under way; never opened by readers
<mirrors>/.check-<name>/  a copy that is being checked
<mirrors>/.cold/<workspace uuid>
                         empty; a mirror that was dropped because nobody used it: searches alone make it anew

A search holds a shared lock on the workspace's folder while it reads; dropping the mirror takes it alone.
"""

import contextlib
import fcntl
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
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
        """Return the files of `workspace_id` below `root`."""
        return cls(root / str(workspace_id))

    def current(self) -> Path:
        """Return the published generation. Raises MirrorAbsent."""
        try:
            name = _read(f"{self.directory}/CURRENT").decode().strip()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise MirrorAbsent(f"No mirror is published in {self.directory.name}.") from error
        return self.directory / name

    @contextmanager
    def writing(self, wait_s: float = 0.0) -> Iterator[None]:
        """Hold the writer's lock. Raises MirrorBusy when it isn't free within `wait_s`."""
        deadline = time.monotonic() + wait_s
        descriptor = self._lock_file()
        try:
            _lock(descriptor, deadline)
            while not self._is_lock_file(descriptor):  # the mirror was dropped while this waited
                stale, descriptor = descriptor, self._lock_file()
                os.close(stale)
                _lock(descriptor, deadline)
            yield
        finally:
            os.close(descriptor)

    def _lock_file(self) -> int:
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(self.directory / "writer.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)

    def _is_lock_file(self, descriptor: int) -> bool:
        with contextlib.suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(descriptor), (self.directory / "writer.lock").stat())
        return False

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep the mirror from being dropped; without one there is nothing to keep."""
        with _locked_folder(self.directory, fcntl.LOCK_SH):
            yield

    def unpublished(self) -> Path:
        """Return the path for a rebuild. Left-overs of one that was killed are removed; hold the lock."""
        self.remove_unpublished()
        return self.directory / f"{uuid.uuid4().hex}.tmp"

    def remove_unpublished(self) -> None:
        """Remove what a rebuild has left that came to no end; hold the lock."""
        for leftover in self.directory.glob("*.tmp*"):
            leftover.unlink(missing_ok=True)

    def publish(self, built: Path) -> Path:
        """Make a complete, closed file the current generation. Readers switch with their next search."""
        generation = built.with_suffix(".sqlite3")
        _sync_to_disk(built)
        pointer = self.directory / "CURRENT.new"
        pointer.write_text(generation.name)
        _sync_to_disk(pointer)
        # From here on nothing needs room: what fails before is not published, and goes.
        built.rename(generation)
        pointer.replace(self.directory / "CURRENT")
        _sync_to_disk(self.directory)
        self._cold_mark.unlink(missing_ok=True)
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
        self.remove_unpublished()
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
        self._cold_mark.unlink(missing_ok=True)

    def note_use(self) -> None:
        """Write down that a search uses the mirror now."""
        self._note("USED")

    def last_used(self) -> float:
        """Return when a search last used it, else when it was made, in epoch seconds; 0: there is none."""
        return self._noted("USED")

    def note_check(self) -> None:
        """Write down that the mirror is checked now."""
        self._note("CHECKED")

    def forget_check(self) -> None:
        """Have it count as not checked since it was made."""
        with contextlib.suppress(OSError):  # there is no mirror
            (self.directory / "CHECKED").unlink()

    def last_checked(self) -> float:
        """Return when it was last checked, else when it was made, in epoch seconds; 0: there is none."""
        return self._noted("CHECKED")

    def _note(self, name: str) -> None:
        with contextlib.suppress(OSError):  # there is no mirror, or no room for an empty file
            (self.directory / name).touch(mode=0o600)

    def _noted(self, name: str) -> float:
        for each in (name, "CURRENT"):
            with contextlib.suppress(OSError):
                return (self.directory / each).stat().st_mtime
        return 0.0

    def size_bytes(self) -> int:
        """Return what its files take."""
        with contextlib.suppress(OSError), os.scandir(self.directory) as entries:
            return sum(entry.stat().st_size for entry in entries)
        return 0

    def drop(self) -> bool:
        """Remove a mirror that is to be made anew when a search asks for it; hold the lock.

        False, and nothing is done, while a search is in it. Broken off anywhere it is published no more.
        """
        try:
            with _locked_folder(self.directory, fcntl.LOCK_EX | fcntl.LOCK_NB):
                self._cold_mark.parent.mkdir(mode=0o700, exist_ok=True)
                self._cold_mark.touch(mode=0o600)
                (self.directory / "CURRENT").unlink(missing_ok=True)
                shutil.rmtree(self.directory, ignore_errors=True)
        except BlockingIOError:
            return False
        return True

    @property
    def is_cold(self) -> bool:
        """Return whether it was dropped, and no search has asked for it since."""
        return self._cold_mark.exists()

    @property
    def _cold_mark(self) -> Path:
        return cold_marks(self.directory.parent) / self.directory.name


def cold_marks(root: Path) -> Path:
    """Return the folder of the marks of mirrors below `root` that were dropped."""
    return root / ".cold"


def workspaces_on_this_node(root: Path) -> list[uuid.UUID]:
    """Return the workspaces that have a mirror below `root`."""
    return _workspaces(root, os.DirEntry.is_dir)


def workspaces_marked(marks: Path) -> list[uuid.UUID]:
    """Return the workspaces that have a mark in the folder `marks`."""
    return _workspaces(marks, os.DirEntry.is_file)


def workspaces_with_files(root: Path) -> set[uuid.UUID]:
    """Return the workspaces that have anything below `root`, a mirror or only the mark of one."""
    return {*workspaces_on_this_node(root), *workspaces_marked(cold_marks(root))}


def _workspaces(folder: Path, is_one: "Callable[[os.DirEntry[str]], bool]") -> list[uuid.UUID]:
    try:
        with os.scandir(folder) as entries:
            return [uuid.UUID(entry.name) for entry in entries if _is_uuid(entry.name) and is_one(entry)]
    except FileNotFoundError:
        return []


def _is_uuid(name: str) -> bool:
    try:
        uuid.UUID(name)
    except ValueError:
        return False
    return True


@contextmanager
def _locked_folder(folder: Path, operation: int) -> Iterator[None]:
    """Hold a lock on a folder, if there is one. Raises BlockingIOError when it isn't to be had at once."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield
        return
    try:
        fcntl.flock(descriptor, operation)
        yield
    finally:
        os.close(descriptor)


def _read(path: str) -> bytes:
    """Read a short file: each search does, several times, and `open` takes three times as long."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _POINTER_BYTES)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, deadline: float) -> None:
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
