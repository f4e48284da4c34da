"""Files of a mirror: generations, the pointer to the current one, the writer's lock.

<mirrors>/<workspace uuid>/
    CURRENT              name of the published generation; replaced atomically
    USED                 empty; its time is when a search last used the mirror, to a minute
    CHECKED              empty; its time is when its indexes were last compared with its text
    writer.lock          flock: one writer per node and workspace
    <generation>.sqlite3
    <generation>.tmp     a rebuild in progress; never opened by readers
<mirrors>/.check-<name>/  a copy that is being checked
<mirrors>/.cold/<workspace uuid>
                         empty; the marker of an evicted mirror, which only a search rebuilds

A search holds a shared lock on the workspace's folder while it reads; eviction takes it exclusively.

Errors of mirrors:

MirrorError
├── MirrorRebuildNeeded  a rebuild from Postgres repairs it
│   ├── MirrorAbsent      no generation is published yet
│   ├── MirrorOutdated    the file, or its position in the log, can't be followed any further
│   └── MirrorDamaged     SQLite or FTS5 reports a broken file
├── MirrorBusy           another process of this node is writing it, or its disk can't be read now
├── SyncTakesLong        the sync takes longer than its caller has
└── SqliteTooOld         the library would corrupt files
"""

import contextlib
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kebab.runtime.durable_files import hold_existing, is_at, lock_within, sync_to_disk
from kebab.uuids import parse_uuid


class MirrorError(Exception):
    """A mirror can't be used as it is."""


class MirrorRebuildNeeded(MirrorError):
    """A new generation must be built from Postgres, in time proportional to the number of chunks."""

    #: The reason as one word, for counts.
    why: str


class MirrorAbsent(MirrorRebuildNeeded):
    """This node has no mirror of the workspace yet; `sync_mirror` builds one."""

    why = "first"


class MirrorOutdated(MirrorRebuildNeeded):
    """The mirror can't follow the change log from its position and has to be rebuilt."""

    def __init__(self, message: str, *, why: str) -> None:
        """Create the error; `why` is the reason as one word, for counts."""
        super().__init__(message)
        self.why = why


class MirrorDamaged(MirrorRebuildNeeded):
    """The mirror's file is damaged and has to be rebuilt."""

    why = "damaged"


class MirrorBusy(MirrorError):
    """The mirror can't be written or read at the moment; retry."""


class SyncTakesLong(MirrorError):
    """The mirror has to be built or is far behind, and the caller asked for a brief sync."""


class SqliteTooOld(MirrorError):
    """The SQLite library is older than the first release that is safe for mirrors."""


# By then all readers of an old generation have finished.
_GRACE_S = 60.0
_RETRY_S = 0.005
# More than the name of a generation takes.
_POINTER_BYTES = 256


@dataclass(frozen=True, slots=True)
class MirrorFiles:
    """The files of one workspace's mirror on this node. The path comes from the UUID alone."""

    directory: Path

    @classmethod
    @lru_cache(maxsize=1_024)
    def of(cls, root: Path, workspace_id: uuid.UUID) -> "MirrorFiles":
        """Return the files of `workspace_id` below `root`."""
        return cls(root / str(workspace_id))

    def current(self) -> Path:
        """Return the published generation. Raises MirrorAbsent."""
        try:
            name = _read(f"{self.directory}/CURRENT").decode().strip()
        except (FileNotFoundError, NotADirectoryError) as error:
            raise MirrorAbsent(f"No mirror is published in {self.directory.name}.") from error
        return _path_of(f"{self.directory}/{name}")

    @contextmanager
    def write_lock(self, wait_s: float = 0.0) -> Iterator[None]:
        """Hold the writer's lock. Raises MirrorBusy when it isn't free within `wait_s`."""
        deadline = time.monotonic() + wait_s
        while True:  # again if the mirror was evicted while this waited
            descriptor = self._open_lock_file()
            try:
                if not lock_within(descriptor, deadline, retry_s=_RETRY_S):
                    raise MirrorBusy("Another process of this node is writing this mirror.")
                if is_at(self.directory / "writer.lock", descriptor):
                    yield
                    return
            finally:
                os.close(descriptor)

    def _open_lock_file(self) -> int:
        flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
        while True:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):  # another process removed the folder in between
                return os.open(self.directory / "writer.lock", flags, 0o600)

    def read_lock(self) -> contextlib.AbstractContextManager[None]:
        """Return the reader's lock, which prevents eviction; without a mirror there is none."""
        return hold_existing(self.directory, shared=True, wait=True, missing_ok=True)

    def new_generation_path(self) -> Path:
        """Return the path for a rebuild, after deleting files of a killed one. Requires the writer's lock."""
        self.delete_unpublished()
        return self.directory / f"{uuid.uuid4().hex}.tmp"

    def delete_unpublished(self) -> None:
        """Delete the files of an unfinished rebuild. Requires the writer's lock."""
        for leftover in self.directory.glob("*.tmp*"):
            leftover.unlink(missing_ok=True)

    def publish(self, draft: Path) -> Path:
        """Make a complete, closed file the current generation. Readers switch with their next search."""
        generation = draft.with_suffix(".sqlite3")
        sync_to_disk(draft)
        pointer = self.directory / "CURRENT.new"
        pointer.write_text(generation.name)
        sync_to_disk(pointer)
        # Nothing from here on needs disk space; a failure before this leaves the file unpublished.
        draft.rename(generation)
        pointer.replace(self.directory / "CURRENT")
        sync_to_disk(self.directory)
        self._eviction_marker.unlink(missing_ok=True)
        return generation

    def withdraw(self, generation: Path) -> None:
        """Delete the pointer if `generation` is current: it is damaged, and the next sync builds another."""
        with contextlib.suppress(MirrorAbsent, FileNotFoundError):
            if self.current() == generation:
                (self.directory / "CURRENT").unlink()

    def delete_old_generations(self, grace_s: float = _GRACE_S) -> bool:
        """Delete generations that were replaced more than `grace_s` ago, and files of a killed rebuild.

        Returns whether only the current generation remains. Requires the writer's lock.
        """
        self.delete_unpublished()
        current = self.current().name
        old = [path for path in self.directory.glob("*.sqlite3*") if not path.name.startswith(current)]
        pointer_age_s = time.time() - (self.directory / "CURRENT").stat().st_mtime
        if pointer_age_s < grace_s:
            return not old
        for path in old:
            path.unlink(missing_ok=True)
        return True

    def delete_all(self) -> None:
        """Delete the mirror with its eviction marker, as when its workspace is deleted."""
        shutil.rmtree(self.directory, ignore_errors=True)
        self._eviction_marker.unlink(missing_ok=True)

    def record_use(self) -> None:
        """Record that a search uses the mirror now."""
        self._touch("USED")

    def last_used(self) -> float:
        """Return when a search last used it, else when it was built, in epoch seconds; 0 without a mirror."""
        return self._mtime("USED")

    def record_check(self) -> None:
        """Record that the mirror is checked now."""
        self._touch("CHECKED")

    def clear_check(self) -> None:
        """Delete the record of the last check, so that the mirror counts as unchecked since it was built."""
        with contextlib.suppress(OSError):  # there is no mirror
            (self.directory / "CHECKED").unlink()

    def last_checked(self) -> float:
        """Return when it was last checked, else when it was built, in epoch seconds; 0 without a mirror."""
        return self._mtime("CHECKED")

    def _touch(self, name: str) -> None:
        with contextlib.suppress(OSError):  # there is no mirror, or no room for an empty file
            (self.directory / name).touch(mode=0o600)

    def _mtime(self, name: str) -> float:
        for each in (name, "CURRENT"):
            with contextlib.suppress(OSError):
                return (self.directory / each).stat().st_mtime
        return 0.0

    def size_bytes(self) -> int:
        """Return the total size of its files."""
        with contextlib.suppress(OSError), os.scandir(self.directory) as entries:
            return sum(entry.stat().st_size for entry in entries)
        return 0

    def evict(self) -> bool:
        """Delete an unused mirror and mark it, so that the next search rebuilds it.

        Returns False, and does nothing, while a search reads it. Interrupted at any step it leaves the mirror
        unpublished. Requires the writer's lock.
        """
        try:
            with hold_existing(self.directory, missing_ok=True):
                self._eviction_marker.parent.mkdir(mode=0o700, exist_ok=True)
                self._eviction_marker.touch(mode=0o600)
                (self.directory / "CURRENT").unlink(missing_ok=True)
                shutil.rmtree(self.directory, ignore_errors=True)
        except BlockingIOError:
            return False
        return True

    @property
    def is_evicted(self) -> bool:
        """Return whether it was evicted and no search has asked for it since."""
        return self._eviction_marker.exists()

    @property
    def _eviction_marker(self) -> Path:
        return eviction_markers(self.directory.parent) / self.directory.name


def eviction_markers(root: Path) -> Path:
    """Return the folder with the markers of evicted mirrors below `root`."""
    return root / ".cold"


def workspaces_on_this_node(root: Path) -> list[uuid.UUID]:
    """Return the workspaces that have a mirror below `root`."""
    return _list_workspaces(root, os.DirEntry.is_dir)


def workspaces_with_marker(markers: Path) -> list[uuid.UUID]:
    """Return the workspaces that have a marker in the folder `markers`."""
    return _list_workspaces(markers, os.DirEntry.is_file)


def workspaces_with_files(root: Path) -> set[uuid.UUID]:
    """Return the workspaces that have a mirror, or the marker of an evicted one, below `root`."""
    return {*workspaces_on_this_node(root), *workspaces_with_marker(eviction_markers(root))}


def _list_workspaces(folder: Path, is_entry: "Callable[[os.DirEntry[str]], bool]") -> list[uuid.UUID]:
    try:
        with os.scandir(folder) as entries:
            found = [(parse_uuid(entry.name), entry) for entry in entries]
            return [id_ for id_, entry in found if id_ is not None and is_entry(entry)]
    except FileNotFoundError:
        return []


_path_of = lru_cache(maxsize=1_024)(Path)


def _read(path: str) -> bytes:
    """Return the first 256 bytes of a file. Searches call this several times; `open` is 3 times slower."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _POINTER_BYTES)
    finally:
        os.close(descriptor)
