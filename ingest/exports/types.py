"""The interface of exports of one product."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol


class Export(Protocol):
    """An export below one folder; all paths are relative to that folder."""

    def __init__(self, paths: Sequence[str]) -> None:
        """Note the paths of its files."""
        ...

    @staticmethod
    def find_roots(paths: Sequence[str]) -> Iterable[str]:
        """Yield the folders of such exports by their signature files: "" or ending in `/`."""
        ...

    @property
    def converted(self) -> tuple[str, ...]:
        """Return the endings of files whose content is converted, in lower case."""
        ...

    @property
    def index_files(self) -> Sequence[str]:
        """Return the files to read before any other is converted."""
        ...

    def read_index(self, path: str, content: bytes) -> None:
        """Read an index file. Raises ValueError for one that can't be read."""
        ...

    def document_path(self, path: str) -> str | None:
        """Return the path of the document that a file becomes; None for a file without text for readers."""
        ...

    def convert(self, path: str, content: bytes) -> bytes:
        """Return the content of the document. Raises ValueError: the file's own bytes are taken."""
        ...

    def documents(self) -> Iterator[tuple[str, bytes]]:
        """Yield path and content of the documents that the index files alone contain."""
        ...


class PlainExport:
    """An export whose files are documents at their own paths unless a product says otherwise."""

    converted: tuple[str, ...] = ()
    index_files: Sequence[str] = ()

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = frozenset(paths)

    def read_index(self, path: str, content: bytes) -> None:
        """Do nothing: there is no index."""

    def document_path(self, path: str) -> str | None:
        """Return the path itself."""
        return path

    def convert(self, path: str, content: bytes) -> bytes:
        """Return the content itself."""
        return content

    def documents(self) -> Iterator[tuple[str, bytes]]:
        """Yield nothing."""
        yield from ()
