"""Lines of a document as its file has them, for the text of segments that are cited by line."""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO, Final

from search.corpus.blobs import open_blob
from search.documents.line_window import read_lines

#: A longer line is not shown whole: what was found of it is, as passages.
MAX_LINE_CHARS: Final = 4_000
# Lines closer than this are read together: a window more is a pass over the file more.
_WINDOW_GAP: Final = 500

Range = tuple[int, int]


class DocumentLines:
    """Some lines of a document, by number from 1; those that are too long or not there are missing."""

    def __init__(self, lines: Mapping[int, str]) -> None:
        self._lines = lines

    def text(self, start: int, end: int) -> str | None:
        """Return the lines from `start` to `end`, joined by line feeds; None when one is missing."""
        # Both ends first: a range of a million lines that aren't there is not to be walked.
        if start not in self._lines or end not in self._lines:
            return None
        numbers = range(start, end + 1)
        if not all(number in self._lines for number in numbers):
            return None
        return "\n".join(self._lines[number] for number in numbers)

    def is_blank(self, start: int, end: int) -> bool:
        """Return whether all lines from `start` to `end` are there and blank; so are no lines at all."""
        return all(not self._lines.get(number, "?").strip() for number in range(start, end + 1))


def read_document_lines(workspace_id: uuid.UUID, hash_: str, ranges: Iterable[Range]) -> DocumentLines:
    """Read these ranges of lines, and what is between them, from the bytes with this hash.

    Bytes that are not there any more, as when the document is being replaced this moment, have no lines.
    """
    try:
        with open_blob(workspace_id, hash_) as content:
            return DocumentLines(dict(_numbered(content, ranges)))
    except FileNotFoundError:
        return DocumentLines({})


def _numbered(content: BinaryIO, ranges: Iterable[Range]) -> Iterator[tuple[int, str]]:
    for first, last in _windows(ranges):
        content.seek(0)
        window = read_lines(content, first=first, count=last - first + 1, max_line_chars=MAX_LINE_CHARS)
        yield from ((line.number, line.text) for line in window.lines if not line.is_cut)


def _windows(ranges: Iterable[Range]) -> list[Range]:
    windows: list[Range] = []
    for first, last in sorted(ranges):
        if windows and first <= windows[-1][1] + _WINDOW_GAP:
            windows[-1] = (windows[-1][0], max(windows[-1][1], last))
        else:
            windows.append((first, last))
    return windows
