"""Folders where Kebab keeps what no source may read: its data, mirrors, blobs, archive and backups.

Those of this node are known by its settings, and by device and inode, however they are reached. Those of
another node, and backups, are known by a mark in them.
"""

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from django.conf import settings
from django.core.files.storage import FileSystemStorage, default_storage

from kebab.stack.blob_mark import MARK_NAME
from kebab.stack.paths import DataDirectory, runtime_directory

#: The empty file that marks such a folder.
MARK: Final = ".kebab-private"
_MARKS: Final = (MARK, MARK_NAME)
#: What to do about a root of sources that holds a private place.
REMEDY: Final = "no source reads it, but keep documents and Kebab's data apart."

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PrivatePlaces:
    """The folders as they are now, each by its device and inode."""

    identities: frozenset[tuple[int, int]]
    #: Of the folder in one of them that sources may read.
    demo: tuple[int, int] | None = None

    @classmethod
    def find(cls) -> Self:
        """Look up those of this node; one that is not there is none."""
        found = (_identity(folder) for folder in _folders())
        demo = _identity(DataDirectory(settings.KEBAB_DATA_DIR).demo)
        return cls(frozenset(identity for identity in found if identity is not None), demo)

    def hold(self, path: Path) -> bool:
        """Return whether `path`, whose links have been followed, is such a folder or lies in one."""
        for each in (path, *path.parents):
            if self.demo is not None and _identity(each) == self.demo:
                return False
            if self.include(each):
                return True
        return False

    def include(self, folder: Path) -> bool:
        """Return whether `folder` itself is one."""
        identity = _identity(folder)
        if identity is None:
            return False
        return identity in self.identities or any(os.path.lexists(folder / mark) for mark in _MARKS)


def mark_private(folder: Path) -> None:
    """Mark a folder, for whoever meets it on another machine. Raises OSError."""
    (folder / MARK).touch(mode=0o600)


def prepare() -> None:
    """Mark this node's folders for others that come to see them, and warn of roots of sources above them."""
    for folder in (settings.KEBAB_DATA_DIR, settings.KEBAB_MIRROR_DIR, settings.KEBAB_WAL_ARCHIVE):
        if folder is not None and folder.is_dir():
            mark_private(folder)
    for root, folder in exposed_places():
        logger.warning("KEBAB_FOLDER_ROOTS allows %s, where %s is Kebab's own; %s", root, folder, REMEDY)


def exposed_places() -> list[tuple[Path, Path]]:
    """Return the roots of folder sources that hold private places or lie in one, each with such a place."""
    places = [folder.resolve() for folder in _folders() if folder.is_dir()]
    return [
        (root, place)
        for root in settings.KEBAB_FOLDER_ROOTS
        for place in places
        if place.is_relative_to(root) or root.is_relative_to(place)
    ]


def _folders() -> Iterator[Path]:
    yield from (settings.KEBAB_DATA_DIR, settings.KEBAB_MIRROR_DIR, settings.KEBAB_METRICS_DIR)
    yield runtime_directory(settings.KEBAB_DATA_DIR, settings.KEBAB_RUNTIME_DIR)
    if settings.KEBAB_WAL_ARCHIVE is not None:
        yield settings.KEBAB_WAL_ARCHIVE
    if isinstance(default_storage, FileSystemStorage):
        yield Path(default_storage.location)
    location = DataDirectory(settings.KEBAB_DATA_DIR).postgres_location
    if location.exists():
        yield Path(location.read_text(encoding="utf-8").strip())


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
