"""Local copies of repositories on this node: their paths, locks and deletion."""

import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from ingest.connectors.errors import RepositoryBusy
from kebab.runtime.durable_files import try_lock_file
from kebab.stack.paths import DataDirectory
from kebab.uuids import parse_uuid
from search.models import Source

# A longer wait ends the attempt: a worker that has lost its job releases the lock within one document.
_PATIENCE_S = 60.0
_RETRY_S = 0.1


@dataclass(frozen=True, slots=True)
class CopyPaths:
    """Paths of the local copy of one source, in a folder below that of its workspace."""

    folder: Path

    @classmethod
    def of(cls, workspace_id: uuid.UUID, source_id: uuid.UUID) -> "CopyPaths":
        """Return the paths for a source; the folder need not exist."""
        return cls(_root() / str(workspace_id) / str(source_id))

    @property
    def git_dir(self) -> Path:
        """Return the path of the bare repository."""
        return self.folder / "repository.git"

    @property
    def config(self) -> Path:
        """Return the path of git's configuration, which contains no secret."""
        return self.folder / "gitconfig"

    @property
    def known_hosts(self) -> Path:
        """Return the path of ssh's known_hosts file."""
        return self.folder / "known_hosts"

    @property
    def size_bytes(self) -> int:
        """Return the present size of the repository on disk."""
        return sum(
            _size_of(Path(folder) / name) for folder, _, names in os.walk(self.git_dir) for name in names
        )


@contextmanager
def lock_copy(paths: CopyPaths, while_waiting: Callable[[], None]) -> Iterator[int]:
    """Lock the copy exclusively; yield the lock's file descriptor.

    A child process that inherits the descriptor keeps the lock when this process is killed. `while_waiting`
    is called ten times a second and may end the wait by raising. Raises RepositoryBusy after a minute.
    """
    until = time.monotonic() + _PATIENCE_S
    while (descriptor := _try_lock(paths)) is None:
        while_waiting()
        if time.monotonic() > until:
            raise RepositoryBusy("Another worker on this node still reads the repository.")
        time.sleep(_RETRY_S)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def delete_repository(workspace_id: uuid.UUID, source_id: uuid.UUID) -> None:
    """Delete this node's copy of a source's repository, if there is one."""
    shutil.rmtree(CopyPaths.of(workspace_id, source_id).folder, ignore_errors=True)


def delete_repositories(workspace_id: uuid.UUID) -> None:
    """Delete this node's copies for all sources of a workspace."""
    shutil.rmtree(_root() / str(workspace_id), ignore_errors=True)


def workspaces_with_repositories() -> list[uuid.UUID]:
    """Return the ids of workspaces for which this node has copies."""
    if not _root().is_dir():
        return []
    return [uuid.UUID(each.name) for each in _root().iterdir() if _is_uuid(each.name)]


def delete_orphans(workspace_id: uuid.UUID) -> None:
    """Delete copies of sources that were deleted by another node."""
    try:
        copies = {each.name for each in (_root() / str(workspace_id)).iterdir() if _is_uuid(each.name)}
    except FileNotFoundError:
        return
    sources = Source.objects.in_workspace(workspace_id).filter(pk__in=copies)
    for name in copies - {str(pk) for pk in sources.values_list("pk", flat=True)}:
        delete_repository(workspace_id, uuid.UUID(name))


def _root() -> Path:
    return DataDirectory(settings.KEBAB_DATA_DIR).repositories


def _try_lock(paths: CopyPaths) -> int | None:
    """Try once to lock the copy; None if that fails, or if the lock file was deleted meanwhile."""
    _root().mkdir(parents=True, exist_ok=True, mode=0o700)
    paths.folder.mkdir(parents=True, exist_ok=True)
    return try_lock_file(paths.folder / "lock")


def _size_of(file: Path) -> int:
    try:
        return file.lstat().st_size
    except FileNotFoundError:  # git renames what it has written
        return 0


def _is_uuid(name: str) -> bool:
    return str(parse_uuid(name)) == name
