"""The exports among the files of an archive or a folder."""

import logging
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Final, Self

from ingest.connectors.errors import ListingFailed
from ingest.connectors.project_file import ProjectFile
from ingest.connectors.types import Connector, Entry, FoundFile, ItemContent, SkippedFile
from ingest.connectors.walk_rules import SkipReason, WalkRules
from ingest.exports.confluence_html import ConfluenceHtml
from ingest.exports.confluence_xml import ConfluenceXml
from ingest.exports.notion import NotionExport
from ingest.exports.obsidian import ObsidianVault
from ingest.exports.slack import SlackExport
from ingest.exports.takeout import TakeoutExport
from ingest.exports.types import Export

logger = logging.getLogger(__name__)

#: Products in the order of their precedence at one folder.
PRODUCTS: Final[Sequence[type[Export]]] = (
    SlackExport,
    TakeoutExport,
    ConfluenceXml,
    ConfluenceHtml,
    ObsidianVault,
    NotionExport,
)
#: Larger files are taken as they are: JSON and markup need many times their size while they are converted.
MAX_CONVERTED_BYTES: Final = 8_000_000
#: errors of files that are not what their export says
_UNREADABLE: Final = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


@dataclass(frozen=True, slots=True)
class Exports:
    """Exports by their folders, "" or ending in `/`, the deepest first; all paths are whole."""

    by_root: dict[str, Export] = field(default_factory=dict)

    @classmethod
    def find(cls, paths: Sequence[str], too_large: Sequence[str] = ()) -> Self:
        """Return the exports among these files.

        Raises ListingFailed if an index file is among those `too_large`: documents would miss without it.
        """
        unread = set(cls.find([*paths, *too_large]).index_files) & {*too_large} if too_large else ()
        if unread:
            raise ListingFailed(f"{min(unread)} of the export has more bytes than are read of a file.")
        products: dict[str, type[Export]] = {}
        for product in PRODUCTS:
            for root in product.find_roots(paths):
                products.setdefault(root, product)
        roots = sorted(products, key=len, reverse=True)
        below: dict[str, list[str]] = {root: [] for root in roots}
        for path in paths if roots else ():
            for root in roots:
                if path.startswith(root):
                    below[root].append(path[len(root) :])
                    break
        return cls({root: products[root](below[root]) for root in roots})

    @property
    def index_files(self) -> list[str]:
        """Return the files to read before any other is converted."""
        return [root + path for root, export in self.by_root.items() for path in export.index_files]

    def read_index(self, path: str, content: bytes) -> None:
        """Read an index file. Raises ListingFailed for a broken one, without which documents would miss."""
        root, export = self._owner(path)
        try:
            if export is not None:
                export.read_index(path[len(root) :], content)
        except _UNREADABLE as error:
            raise ListingFailed(f"{path} of the export is damaged or cut off; export it again.") from error

    def place(self, paths: Iterable[str]) -> Iterator[tuple[str, str | SkipReason]]:
        """Yield each file with the path of the document that it becomes, or the reason why it is none."""
        if not self.by_root:
            yield from ((path, path) for path in paths)
            return
        taken = set()
        for path in paths:
            root, export = self._owner(path)
            inner = path[len(root) :] if export is None else export.document_path(path[len(root) :])
            place = None if inner is None else root + inner
            if place is None or place in taken:
                yield path, SkipReason.EXPORT_FILE if place is None else SkipReason.DUPLICATE_PATH
            else:
                taken.add(place)
                yield path, place

    def convert(self, path: str, content: bytes) -> bytes:
        """Return the content of the document that a file becomes."""
        root, export = self._owner(path)
        if export is None or not self.converts(path) or len(content) > MAX_CONVERTED_BYTES:
            return content
        try:
            return export.convert(path[len(root) :], content)
        except _UNREADABLE as error:
            logger.warning("a file of an export can't be converted: %s", type(error).__name__)
            return content

    def documents(self) -> Iterator[tuple[str, bytes]]:
        """Yield path and content of the documents that the index files alone contain."""
        for root, export in self.by_root.items():
            for path, content in export.documents():
                yield root + path, content

    def converts(self, path: str) -> bool:
        """Return whether the content of a file is converted."""
        export = self._owner(path)[1]
        return export is not None and path.lower().endswith(export.converted)

    def _owner(self, path: str) -> tuple[str, Export | None]:
        return next(
            ((root, each) for root, each in self.by_root.items() if path.startswith(root)), ("", None)
        )


#: Incremented whenever the same export is converted differently.
VERSION: Final = 1


class ExportSource:
    """A connector whose files are those of another one, except in exports.

    A converted file is read again when it changes, and all are when an index file or a name in the folder
    does: links and names of people depend on these.
    """

    def __init__(self, files: Connector) -> None:
        self._files = files
        self._exports = Exports()
        #: Path of the file by that of its document, where they differ.
        self._originals: dict[str, str] | None = None
        self._made: dict[str, bytes] = {}
        self._state = ""

    @property
    def revision(self) -> str:
        """Return the revision of the files."""
        return self._files.revision

    def project_file(self) -> ProjectFile | None:
        """Return the project file among the files. Raises ListingFailed."""
        return self._files.project_file()

    def entries(self, rules: WalkRules) -> Iterator[Entry]:
        """Yield the documents of exports and all other files. Raises ListingFailed."""
        listed = list(self._files.entries(rules))
        found = {entry.path: entry for entry in listed if isinstance(entry, FoundFile)}
        skipped = [entry for entry in listed if isinstance(entry, SkippedFile)]
        too_large = [entry.path for entry in skipped if entry.reason is SkipReason.TOO_LARGE]
        self._find_exports(list(found), too_large)
        originals: dict[str, str] = {}
        for path, place in self._exports.place(found):
            entry = found[path]
            if isinstance(place, SkipReason):
                yield SkippedFile(path=path, reason=place)
                continue
            if place != path:
                originals[place] = path
            is_converted = self._exports.converts(path)
            if is_converted:  # the size of its document is not known yet
                revision = self._revision(entry.size_bytes, entry.mtime_ns)
                yield replace(entry, path=place, revision=revision, size_bytes=None)
            else:
                yield replace(entry, path=place)
        self._originals = originals
        yield from skipped
        yield from self._made_documents({*found, *originals})

    def read(self, path: str) -> ItemContent:
        """Return the content of a document. Raises FileNotFoundError, OSError."""
        if self._originals is None:  # the job goes on after its listing
            for _ in self.entries(WalkRules.from_settings()):
                pass
        if (made := self._made.get(path)) is not None:
            return ItemContent(content=made, revision=self._made_revision(made))
        original = (self._originals or {}).get(path, path)
        read = self._files.read(original)
        if not self._exports.converts(original):
            return read
        revision = self._revision(len(read.content), read.mtime_ns)
        return replace(read, content=self._exports.convert(original, read.content), revision=revision)

    def _find_exports(self, paths: Sequence[str], too_large: Sequence[str]) -> None:
        self._exports = Exports.find(paths, too_large)
        state = blake2b(f"{VERSION}".encode(), digest_size=8)
        for path in paths if self._exports.by_root else ():
            state.update(path.encode() + b"\0")
        for path in self._exports.index_files:
            try:
                content = self._files.read(path).content
            except OSError as error:
                raise ListingFailed(f"{path} can't be read: {error.strerror or error}.") from error
            state.update(content)
            self._exports.read_index(path, content)
        self._state = state.hexdigest()

    def _made_documents(self, taken: Container[str]) -> Iterator[FoundFile]:
        self._made = {path: content for path, content in self._exports.documents() if path not in taken}
        for path, content in self._made.items():
            yield FoundFile(path=path, size_bytes=len(content), revision=self._made_revision(content))

    def _revision(self, size_bytes: int | None, mtime_ns: int | None) -> str:
        return f"export:{self._state}:{size_bytes}:{mtime_ns}"

    def _made_revision(self, content: bytes) -> str:
        return f"export:{VERSION}:{blake2b(content, digest_size=16).hexdigest()}"
