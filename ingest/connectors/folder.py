"""Listing of the files of a folder: those to read, and those skipped with the reason."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ingest.connectors.errors import ListingFailed
from ingest.connectors.tree import FileFacts, printable_path, walk_tree
from ingest.connectors.types import Entry
from ingest.connectors.walk_rules import SkipReason, WalkRules
from kebab.stack.storage.private_places import PrivateFolders


def walk_folder(root: Path, rules: WalkRules | None = None) -> Iterator[Entry]:
    """Yield everything below `root`, sorted by name within each directory, depth first.

    Raises:
        ListingFailed: a directory or an ignore file cannot be read; raised when it is reached, so that
            a caller who has not seen the end of the listing deletes nothing.
    """
    return walk_tree(_FolderTree(root), rules or WalkRules())


class _FolderTree:
    """A folder on disk as a tree of directory entries; links out of it are not followed.

    Directories with Kebab's own files are not entered, and links into them are not followed.
    """

    def __init__(self, root: Path) -> None:
        self._root = os.path.realpath(root)
        self._private = PrivateFolders.find()

    def children(self, directory: os.DirEntry[str] | None) -> dict[str, os.DirEntry[str]]:
        path = self._root if directory is None else directory.path
        if directory is None and self._private.contains(Path(path)):
            raise ListingFailed(f"{path} is where Kebab keeps its own files; no source reads them.")
        try:
            with os.scandir(path) as listing:
                return {entry.name: entry for entry in listing}
        except OSError as error:
            raise _listing_error(path, error) from error

    def is_directory(self, node: os.DirEntry[str]) -> bool:
        return node.is_dir(follow_symlinks=False) and not self._private.is_private(Path(node.path))

    def facts(self, node: os.DirEntry[str]) -> FileFacts | SkipReason:
        """Return size and time of a regular file, or the reason why it may not be read."""
        try:
            if node.is_symlink():
                target = os.path.realpath(node.path, strict=True)
                if not self._is_inside(target):
                    return SkipReason.LINK_OUTSIDE
                if self._private.contains(Path(target)):
                    return SkipReason.PRIVATE_PLACE
            status = node.stat()
        except FileNotFoundError:
            return SkipReason.BROKEN_LINK if node.is_symlink() else SkipReason.VANISHED
        except OSError as error:
            if node.is_symlink():  # a loop, or a path through unreadable directories
                return SkipReason.BROKEN_LINK
            raise _listing_error(node.path, error) from error
        if stat.S_ISDIR(status.st_mode):
            return SkipReason.DIRECTORY_LINK if node.is_symlink() else SkipReason.PRIVATE_PLACE
        if not stat.S_ISREG(status.st_mode):
            return SkipReason.SPECIAL_FILE
        return FileFacts(size_bytes=status.st_size, mtime_ns=status.st_mtime_ns)

    def ignore_file(self, node: os.DirEntry[str], at_most: int) -> bytes:
        try:
            if not node.is_file(follow_symlinks=False):
                return b""
            with Path(node.path).open("rb") as file:
                return file.read(at_most)
        except OSError as error:
            raise _listing_error(node.path, error) from error

    def _is_inside(self, real_path: str) -> bool:
        return os.path.commonpath([self._root, real_path]) == self._root


def _listing_error(path: str, error: OSError) -> ListingFailed:
    printable_name = printable_path(path, is_directory=False)
    return ListingFailed(
        f"{printable_name} cannot be listed: {error.strerror or error}. Check that it may be read."
    )
