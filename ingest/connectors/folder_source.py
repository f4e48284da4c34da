"""A folder on the server as a source."""

from collections.abc import Iterator
from errno import EPERM
from pathlib import Path
from unicodedata import normalize

from ingest.connectors.folder import walk_folder
from ingest.connectors.project_file import ProjectFile, read_project_file
from ingest.connectors.types import Entry, ItemContent
from ingest.connectors.walk_rules import WalkRules


class FolderSource:
    """Lists and reads what lies below a folder, never anything outside it."""

    revision = ""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def project_file(self) -> ProjectFile | None:
        """Give what the folder's project file says. Raises ListingFailed."""
        return read_project_file(self._root)

    def entries(self, rules: WalkRules) -> Iterator[Entry]:
        """Give the files below the folder by name. Raises ListingFailed."""
        return walk_folder(self._root, rules)

    def read(self, path: str) -> ItemContent:
        """Give a file's bytes with the time it had before they were read. Raises OSError."""
        file = self._locate(path).resolve(strict=True)
        if not file.is_relative_to(self._root):
            raise PermissionError(EPERM, "It has become a link to outside the folder")
        mtime_ns = file.stat().st_mtime_ns
        return ItemContent(content=file.read_bytes(), mtime_ns=mtime_ns)

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
