"""A connector that reads the exports of other products in a folder as their documents."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Final

from ingest.connectors.errors import ListingFailed
from ingest.connectors.project_file import ProjectFile
from ingest.connectors.types import Connector, Entry, FoundFile, ItemContent, SkippedFile
from ingest.connectors.walk_rules import SkipReason, WalkRules
from ingest.exports.found import Exports

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
