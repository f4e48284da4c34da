"""Folders of Kebab's own that no source may read: data, mirrors, blobs, the archive, backups.

Those of this node come from the settings and are compared by device and inode. Backups, and the folders of
other nodes, are recognised by a mark file in them.
"""

import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from django.conf import settings
from django.core.files.storage import FileSystemStorage, default_storage

from kebab.stack.paths import DataDirectory, file_identity, runtime_directory
from kebab.stack.storage.blob_mark import MARK_NAME

#: The empty file that marks a private folder.
MARK: Final = ".kebab-private"
_MARKS: Final = (MARK, MARK_NAME)
#: Advice about a root of sources that holds a private folder.
REMEDY: Final = "no source reads it, but keep documents and Kebab's data apart."
#: A remark about the archive of earlier versions, with advice.
ARCHIVE_UNUSED: Final = "KEBAB_WAL_ARCHIVE is set, but Kebab archives no log any more"
ARCHIVE_REMEDY: Final = (
    "Run kebab backup, or pgBackRest for a Postgres of your own (docs/operations/backup.md);"
    " unset it when that folder is deleted."
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PrivateFolders:
    """The private folders of this node, by device and inode."""

    identities: frozenset[tuple[int, int]]
    #: The folders in the data directory that sources may read.
    readable: frozenset[tuple[int, int]] = frozenset()

    @classmethod
    def find(cls) -> Self:
        """Find the existing folders of this node."""
        data = DataDirectory(settings.KEBAB_DATA_DIR)
        return cls(_identities(_own_folders()), _identities((data.demo, data.bench)))

    def contains(self, path: Path) -> bool:
        """Return whether `path` (with links resolved) is a private folder or lies in one."""
        for each in (path, *path.parents):
            if file_identity(each) in self.readable:
                return False
            if self.is_private(each):
                return True
        return False

    def is_private(self, folder: Path) -> bool:
        """Return whether `folder` itself is private."""
        if file_identity(folder) in self.identities:
            return True
        return any(os.path.lexists(folder / mark) for mark in _MARKS)


def mark_private(folder: Path) -> None:
    """Mark a folder as private to every node. Raises OSError."""
    (folder / MARK).touch(mode=0o600)


def mark_own_folders() -> None:
    """Mark the folders of this node that other nodes may mount, and warn of roots that expose any."""
    for folder in (settings.KEBAB_DATA_DIR, settings.KEBAB_MIRROR_DIR, settings.KEBAB_WAL_ARCHIVE):
        if folder is not None and folder.is_dir():
            mark_private(folder)
    if settings.KEBAB_WAL_ARCHIVE is not None:
        logger.warning("%s. %s", ARCHIVE_UNUSED, ARCHIVE_REMEDY)
    for root, folder in exposed_folders():
        logger.warning("KEBAB_FOLDER_ROOTS allows %s, where %s is Kebab's own; %s", root, folder, REMEDY)


def exposed_folders() -> list[tuple[Path, Path]]:
    """Return each root of sources that holds a private folder or lies in one, with that folder."""
    places = [folder.resolve() for folder in _own_folders() if folder.is_dir()]
    return [
        (root, place)
        for root in settings.KEBAB_FOLDER_ROOTS
        for place in places
        if place.is_relative_to(root) or root.is_relative_to(place)
    ]


def _identities(folders: Iterable[Path]) -> frozenset[tuple[int, int]]:
    found = (file_identity(folder) for folder in folders)
    return frozenset(identity for identity in found if identity is not None)


def _own_folders() -> Iterator[Path]:
    yield from (settings.KEBAB_DATA_DIR, settings.KEBAB_MIRROR_DIR, settings.KEBAB_METRICS_DIR)
    yield runtime_directory(settings.KEBAB_DATA_DIR, settings.KEBAB_RUNTIME_DIR)
    if settings.KEBAB_WAL_ARCHIVE is not None:
        yield settings.KEBAB_WAL_ARCHIVE
    if isinstance(default_storage, FileSystemStorage):
        yield Path(default_storage.location)
    location = DataDirectory(settings.KEBAB_DATA_DIR).postgres_location
    if location.exists():
        yield Path(location.read_text(encoding="utf-8").strip())
