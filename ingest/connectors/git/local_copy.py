"""Where this node keeps its copy of a source's repository, and who may use it now."""

import fcntl
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from ingest.connectors.errors import RepositoryBusy
from kebab.stack.paths import DataDirectory
from search.models import Source

# Whoever waits longer comes again later: a worker that has lost its job lets go within a document.
_PATIENCE_S = 60.0
_RETRY_S = 0.1


@dataclass(frozen=True, slots=True)
class Place:
    """A folder of one source's own, below its workspace's."""

    folder: Path

    @classmethod
    def of(cls, workspace_id: uuid.UUID, source_id: uuid.UUID) -> "Place":
        """Return the place of a source; the folder need not be there."""
        return cls(_root() / str(workspace_id) / str(source_id))

    @property
    def git_dir(self) -> Path:
        """Return the bare repository."""
        return self.folder / "repository.git"

    @property
    def config(self) -> Path:
        """Return what git is told beside its arguments; no secret is in it."""
        return self.folder / "gitconfig"

    @property
    def known_hosts(self) -> Path:
        """Return the keys by which ssh knows the hosts again."""
        return self.folder / "known_hosts"

    @property
    def size_bytes(self) -> int:
        """Return what the repository takes on disk now."""
        return sum(
            _size_of(Path(folder) / name) for folder, _, names in os.walk(self.git_dir) for name in names
        )


@contextmanager
def locked(place: Place, while_waiting: Callable[[], None]) -> Iterator[int]:
    """Have the place for oneself; gives the lock's descriptor.

    A child that inherits the descriptor holds the lock on when this process is killed. `while_waiting` is
    called ten times a second and may end the wait. Raises RepositoryBusy after a minute.
    """
    until = time.monotonic() + _PATIENCE_S
    while (descriptor := _lock(place)) is None:
        while_waiting()
        if time.monotonic() > until:
            raise RepositoryBusy("Another worker on this node still reads the repository.")
        time.sleep(_RETRY_S)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def remove_repository(workspace_id: uuid.UUID, source_id: uuid.UUID) -> None:
    """Remove this node's copy with all that belongs to it; harmless when there is none."""
    shutil.rmtree(Place.of(workspace_id, source_id).folder, ignore_errors=True)


def remove_repositories(workspace_id: uuid.UUID) -> None:
    """Remove this node's copies of all of a workspace's sources."""
    shutil.rmtree(_root() / str(workspace_id), ignore_errors=True)


def workspaces_with_repositories() -> list[uuid.UUID]:
    """Return the workspaces of whose sources this node has a copy."""
    if not _root().is_dir():
        return []
    return [uuid.UUID(each.name) for each in _root().iterdir() if _is_uuid(each.name)]


def remove_orphans(workspace_id: uuid.UUID) -> None:
    """Remove the copies of sources that were deleted from another node."""
    try:
        kept = {each.name for each in (_root() / str(workspace_id)).iterdir() if _is_uuid(each.name)}
    except FileNotFoundError:
        return
    sources = Source.objects.in_workspace(workspace_id).filter(pk__in=kept)
    for name in kept - {str(pk) for pk in sources.values_list("pk", flat=True)}:
        remove_repository(workspace_id, uuid.UUID(name))


def _root() -> Path:
    return DataDirectory(settings.KEBAB_DATA_DIR).repositories


def _lock(place: Place) -> int | None:
    """Try to lock the place once. A lock file that was removed with its folder meanwhile is no lock."""
    _root().mkdir(parents=True, exist_ok=True, mode=0o700)
    place.folder.mkdir(parents=True, exist_ok=True)
    path = place.folder / "lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.stat().st_ino == os.fstat(descriptor).st_ino:
            return descriptor
    os.close(descriptor)
    return None


def _size_of(file: Path) -> int:
    try:
        return file.lstat().st_size
    except FileNotFoundError:  # git renames what it has written
        return 0


def _is_uuid(name: str) -> bool:
    try:
        return str(uuid.UUID(name)) == name
    except ValueError:
        return False
