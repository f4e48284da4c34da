"""Original lines of a document's file, for the text of segments that are cited by line."""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO, Final

from search.corpus.blobs import open_blob
from search.documents.line_window import read_lines

#: A longer line is not shown whole; its passages are shown instead.
MAX_LINE_CHARS: Final = 4_000
# Ranges closer than this are read together, because each window is another pass over the file.
_WINDOW_GAP: Final = 500

Range = tuple[int, int]


class DocumentLines:
    """Some lines of a document, by number from 1, without lines that are too long or don't exist."""

    def __init__(self, lines: Mapping[int, str]) -> None:
        self._lines = lines

    def text(self, start: int, end: int) -> str | None:
        """Return the lines from `start` to `end`, joined by line feeds; None when one is missing."""
        # Check both ends first, so that a range of a million missing lines isn't iterated.
        if start not in self._lines or end not in self._lines:
            return None
        numbers = range(start, end + 1)
        if not all(number in self._lines for number in numbers):
            return None
        return "\n".join(self._lines[number] for number in numbers)

    def is_blank(self, start: int, end: int) -> bool:
        """Return whether all lines from `start` to `end` are known and blank; true for an empty range."""
        return all(not self._lines.get(number, "?").strip() for number in range(start, end + 1))


def read_document_lines(workspace_id: uuid.UUID, hash_: str, ranges: Iterable[Range]) -> DocumentLines:
    """Read these ranges of lines, and possibly lines between them, from the blob with this hash.

    Returns no lines if the blob is gone, as when the document is being replaced concurrently.
    """
    try:
        with open_blob(workspace_id, hash_) as content:
            return DocumentLines(dict(_read_windows(content, ranges)))
    except FileNotFoundError:
        return DocumentLines({})


def _read_windows(content: BinaryIO, ranges: Iterable[Range]) -> Iterator[tuple[int, str]]:
    for first, last in _merge_ranges(ranges):
        content.seek(0)
        window = read_lines(content, first=first, count=last - first + 1, max_line_chars=MAX_LINE_CHARS)
        yield from ((line.number, line.text) for line in window.lines if not line.is_cut)


def _merge_ranges(ranges: Iterable[Range]) -> list[Range]:
    windows: list[Range] = []
    for first, last in sorted(ranges):
        if windows and first <= windows[-1][1] + _WINDOW_GAP:
            windows[-1] = (windows[-1][0], max(windows[-1][1], last))
        else:
            windows.append((first, last))
    return windows
