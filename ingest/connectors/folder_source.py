"""The connector of folders on the server."""

import os
import stat
from collections.abc import Iterator
from errno import EPERM
from pathlib import Path
from typing import BinaryIO, Final

from ingest.connectors.folder import walk_folder
from ingest.connectors.project_file import ProjectFile, read_project_file
from ingest.connectors.tree import readable_name
from ingest.connectors.types import Entry, ItemContent
from ingest.connectors.walk_rules import MAX_FILE_BYTES, WalkRules
from kebab.stack.storage.private_places import PrivateFolders

#: O_NONBLOCK: opening a pipe must not wait for a writer.
_OPEN: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class FolderSource:
    """A connector that lists and reads files below a folder, but none outside it and none of Kebab's own."""

    revision = ""

    def __init__(self, root: Path, max_bytes: int = MAX_FILE_BYTES) -> None:
        self._root = root.resolve()
        self._max_bytes = max_bytes
        self._private = PrivateFolders.find()

    def project_file(self) -> ProjectFile | None:
        """Return the folder's project file, None without one. Raises ListingFailed."""
        return read_project_file(self._root)

    def entries(self, rules: WalkRules) -> Iterator[Entry]:
        """Yield the files below the folder by name. Raises ListingFailed."""
        return walk_folder(self._root, rules)

    def read(self, path: str) -> ItemContent:
        """Return a file's bytes with its modification time from before the read. Raises OSError.

        A file that was replaced since the listing, by a pipe or by more bytes than allowed, is not read.
        """
        file = self._locate(path).resolve(strict=True)
        if not file.is_relative_to(self._root):
            raise PermissionError(EPERM, "It has become a link to outside the folder")
        if self._private.contains(file.parent):
            raise PermissionError(EPERM, "It lies where Kebab keeps its own files now")
        with _open_file(file) as opened:
            status = os.fstat(opened.fileno())
            # read() allocates the size it is given: with the limit that would be 100 MB for each small file.
            content = opened.read(min(status.st_size, self._max_bytes) + 1)
            if len(content) > status.st_size:  # it has grown since
                content += opened.read(self._max_bytes + 1 - len(content))
        if len(content) > self._max_bytes:
            raise PermissionError(EPERM, f"It has grown to more than {self._max_bytes:,} bytes")
        return ItemContent(content=content, mtime_ns=status.st_mtime_ns)

    def _locate(self, path: str) -> Path:
        """Find the file whose readable name is `path`; the file system may have it in another form."""
        file = self._root / path
        if path.isascii() or file.exists():
            return file
        file = self._root
        for name in path.split("/"):
            same = (entry for entry in file.iterdir() if readable_name(entry.name) == name)
            file = next(same, file / name)
        return file


def _open_file(file: Path) -> BinaryIO:
    descriptor = os.open(file, _OPEN)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise PermissionError(EPERM, "It has become a pipe, a device or a folder")
    return os.fdopen(descriptor, "rb")
