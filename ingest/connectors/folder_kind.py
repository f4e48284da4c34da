"""The kind of source that reads a folder of this server."""

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from errno import EPERM
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Final

from django.conf import settings
from django.utils.functional import lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ingest.connectors.declaration import ConnectorField, ConnectorKind, MayRead
from ingest.connectors.errors import ListingFailed
from ingest.connectors.project_file import ProjectFile, read_project_file
from ingest.connectors.tree import FileFacts, printable_path, readable_name, walk_tree
from ingest.connectors.types import Connector, Entry, ItemContent, OpenOptions
from ingest.connectors.walk_rules import MAX_FILE_BYTES, SkipReason, WalkRules
from ingest.errors import FolderNotAllowed
from ingest.exports.found import ExportSource
from kebab.stack.storage.private_places import PrivateFolders
from search.models import Source, SourceKind


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
                if os.path.commonpath([self._root, target]) != self._root:
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


def _listing_error(path: str, error: OSError) -> ListingFailed:
    printable_name = printable_path(path, is_directory=False)
    return ListingFailed(
        f"{printable_name} cannot be listed: {error.strerror or error}. Check that it may be read."
    )


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


class _FolderKind(ConnectorKind):
    def check_config(self, given: Mapping[str, Any], may_read: MayRead) -> Mapping[str, Any]:
        """Return the config with all links followed. Raises FolderNotAllowed."""
        return {"path": str(resolve_allowed_folder(given["path"], may_read))}

    def derive_title(self, config: Mapping[str, Any]) -> str:
        """Return the name of the folder."""
        return PurePath(config["path"]).name

    def open(self, options: OpenOptions) -> AbstractContextManager[Connector]:
        """Open the folder, unless it, or one above it, has become a link. Raises ListingFailed."""
        rules = WalkRules.from_settings()
        files = FolderSource(
            _stored_folder(options.source), max(rules.max_code_bytes, rules.max_document_bytes)
        )
        return nullcontext(ExportSource(files))

    def probe(self, source: Source, while_waiting: Callable[[], None]) -> str:
        """Read the folder's first name. Raises ListingFailed."""
        try:
            first = next(_stored_folder(source).iterdir(), None)
        except OSError as error:
            raise ListingFailed(
                _("The folder can’t be read: %(reason)s.") % {"reason": error.strerror}
            ) from error
        return (
            _("Connected. There are no documents yet.")
            if first is None
            else _("Connected. The folder can be read.")
        )


def resolve_allowed_folder(path: str, may_read: MayRead) -> Path:
    """Return the folder with all links followed. Raises FolderNotAllowed.

    The message is the same for a folder that may not be read, whether it exists or not, and for one with
    Kebab's own files.
    """
    folder = _resolve_path(path)
    if not may_read(folder) or PrivateFolders.find().contains(folder):
        raise FolderNotAllowed(
            f"The folder {path[:200]!r} lies outside the folders that may be read here; the operator allows"
            " more with KEBAB_FOLDER_ROOTS."
        )
    try:
        is_folder = folder.is_dir()
    except OSError:  # a name too long, a folder that may not be entered
        is_folder = False
    if not is_folder:
        raise FolderNotAllowed(f"The folder {path[:200]!r} is not there, or can't be read; check the path.")
    return folder


def _resolve_path(path: str) -> Path:
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise FolderNotAllowed(f"The folder {path[:200]!r} can't be found: {error}.") from error


def _stored_folder(source: Source) -> Path:
    """Return the folder, whose path was resolved when the source was created; a later link may lead out."""
    folder = Path(source.config["path"])
    if folder.resolve() != folder:
        raise ListingFailed(
            f"{folder}, or a folder above it, is a link to elsewhere now; make a source for where it leads."
        )
    return folder


def _help() -> str:
    roots = ", ".join(map(str, settings.KEBAB_FOLDER_ROOTS[:5]))
    return _("On this server, in %(roots)s. Includes subfolders.") % {"roots": roots}


FOLDER: Final = _FolderKind(
    kind=SourceKind.FOLDER,
    label=gettext_lazy("Folder"),
    heading=gettext_lazy("Add a folder"),
    summary=gettext_lazy("A folder of this server, including subfolders."),
    icon="folder",
    fields=(
        ConnectorField(
            name="path",
            label=gettext_lazy("Folder"),
            help=lazy(_help, str)(),
            api_help="",
            type="path",
            is_required=True,
            max_chars=4_000,
        ),
    ),
    needed_setting="KEBAB_FOLDER_ROOTS",
    is_watchable=True,
    is_tested_on_page=False,
    config_doc="The configuration of a folder source.",
)
