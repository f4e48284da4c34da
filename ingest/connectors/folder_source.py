"""A folder on the server as a source."""

import os
import stat
from collections.abc import Iterator
from errno import EPERM
from pathlib import Path
from typing import BinaryIO, Final
from unicodedata import normalize

from ingest.connectors.folder import walk_folder
from ingest.connectors.project_file import ProjectFile, read_project_file
from ingest.connectors.types import Entry, ItemContent
from ingest.connectors.walk_rules import MAX_FILE_BYTES, WalkRules
from kebab.stack.storage.private_places import PrivatePlaces

#: A pipe is opened without waiting for somebody who writes into it.
_OPEN: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class FolderSource:
    """Lists and reads what lies below a folder, never anything outside it or of Kebab's own."""

    revision = ""

    def __init__(self, root: Path, max_bytes: int = MAX_FILE_BYTES) -> None:
        self._root = root.resolve()
        self._max_bytes = max_bytes
        self._private = PrivatePlaces.find()

    def project_file(self) -> ProjectFile | None:
        """Return what the folder's project file says. Raises ListingFailed."""
        return read_project_file(self._root)

    def entries(self, rules: WalkRules) -> Iterator[Entry]:
        """Return the files below the folder by name. Raises ListingFailed."""
        return walk_folder(self._root, rules)

    def read(self, path: str) -> ItemContent:
        """Return a file's bytes with the time it had before they were read. Raises OSError.

        What has become something else since it was listed (a pipe, a disk's worth of bytes) is not read.
        """
        file = self._locate(path).resolve(strict=True)
        if not file.is_relative_to(self._root):
            raise PermissionError(EPERM, "It has become a link to outside the folder")
        if self._private.hold(file.parent):
            raise PermissionError(EPERM, "It lies where Kebab keeps its own files now")
        with _open_file(file) as opened:
            stands = os.fstat(opened.fileno())
            # A buffer is made as large as asked for: with the limit alone, 100 MB for each small file.
            content = opened.read(min(stands.st_size, self._max_bytes) + 1)
            if len(content) > stands.st_size:  # it has grown since
                content += opened.read(self._max_bytes + 1 - len(content))
        if len(content) > self._max_bytes:
            raise PermissionError(EPERM, f"It has grown to more than {self._max_bytes:,} bytes")
        return ItemContent(content=content, mtime_ns=stands.st_mtime_ns)

    def _locate(self, path: str) -> Path:
        """Find the file whose name is `path` in NFC; the file system may have it in another form."""
        file = self._root / path
        if path.isascii() or file.exists():
            return file
        file = self._root
        for name in path.split("/"):
            same = (entry for entry in file.iterdir() if normalize("NFC", entry.name) == name)
            file = next(same, file / name)
        return file


def _open_file(file: Path) -> BinaryIO:
    descriptor = os.open(file, _OPEN)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise PermissionError(EPERM, "It has become a pipe, a device or a folder")
    return os.fdopen(descriptor, "rb")
