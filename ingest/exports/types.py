"""The interface of exports of one product."""

import json
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any, Protocol
from urllib.parse import quote


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


def front_matter(fields: Mapping[str, Any]) -> str:
    """Return the fields that have a value as the header of a Markdown file."""
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in _stated(fields)]
    return "".join(("---\n", *lines, "---\n"))


def trailing_fields(fields: Mapping[str, Any]) -> str:
    """Return the fields as the last line of a Markdown file, which keeps the numbers of all other lines."""
    stated = json.dumps(dict(_stated(fields)), ensure_ascii=False).replace("--", "-\\u002d")
    return "" if stated == "{}" else f"\n<!-- fields {stated} -->\n"


def meta_elements(fields: Mapping[str, Any]) -> str:
    """Return author, created, modified and tags as elements of an HTML page's head, on one line."""
    names = (
        (("article:tag" if name == "tags" else name), each)
        for name, value in _stated(fields)
        for each in (value if isinstance(value, list) else [value])
    )
    return "".join(f'<meta name="{name}" content="{escape(str(each))}">' for name, each in names)


@lru_cache(maxsize=4_096)
def link_to(path: str, target: str, fragment: str = "") -> str:
    """Return the link from the file at `path` to the one at `target`."""
    link = quote(posixpath.relpath(target, posixpath.dirname(path) or "."), safe="/!~*'@:,;+=&$")
    return f"{link}#{quote(fragment)}" if fragment else link


def _stated(fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in fields.items() if value)
