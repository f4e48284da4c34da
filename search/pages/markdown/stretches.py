"""Division of a long Markdown document into stretches that start at block starts, the same for every reader.

Only the lines up to the requested one are read, and only the start of each is kept.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from search.documents.line_window import line_heads

#: The most characters rendered of a line.
MAX_LINE_CHARS = 10_000
#: From this size on, a stretch ends before the next block.
STRETCH_LINES, STRETCH_BYTES = 300, 40_000
#: At this size it ends within a block; only a fence is continued in the next stretch.
MOST_LINES, MOST_BYTES = 600, 80_000
_FENCE = re.compile(rb"[ >]{0,12}(`{3,}|~{3,})(.*)")
_BLOCK_START = re.compile(rb"[^\s]")
_HEADING = re.compile(rb"#{1,6}\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Consecutive lines, from 1, both included."""

    first: int
    last: int
    #: The first line of the previous stretch; None at the start.
    earlier: int | None
    #: The line that opened the fence in which the stretch starts; '' if it doesn't start in one.
    opening: str


def find_stretch(content: BinaryIO, line: int) -> Stretch:
    """Return the stretch that contains `line`; past the end, the last one."""
    found = Stretch(first=1, last=0, earlier=None, opening="")
    for found in _split_stretches(content):
        if found.last >= line:
            break
    return found


@dataclass(slots=True, kw_only=True)
class _OpenStretch:
    """The stretch that is being collected, after `last` lines of the document."""

    first: int = 1
    last: int = 0
    earlier: int | None = None
    opening: bytes = b""
    size_bytes: int = 0

    def stretch(self) -> Stretch:
        opening = self.opening.decode(errors="replace").strip()
        return Stretch(first=self.first, last=self.last, earlier=self.earlier, opening=opening)

    def should_end(self, *, is_border: bool) -> bool:
        lines = self.last - self.first + 1
        if lines >= MOST_LINES or self.size_bytes >= MOST_BYTES:
            return True
        return is_border and (lines >= STRETCH_LINES or self.size_bytes >= STRETCH_BYTES)


def _split_stretches(content: BinaryIO) -> Iterator[Stretch]:
    open_, fence, was_blank = _OpenStretch(), b"", True
    for head, length in line_heads(content):
        is_border = not fence and bool(
            _HEADING.match(head) or (was_blank and _BLOCK_START.match(head))
        )  # an indented line continues the list or the code before it
        if open_.last >= open_.first and open_.should_end(is_border=is_border):
            yield open_.stretch()
            open_ = _OpenStretch(first=open_.last + 1, last=open_.last, earlier=open_.first, opening=fence)
        open_.last += 1
        open_.size_bytes += min(length, MAX_LINE_CHARS)
        fence, was_blank = fence_after(head, fence), not head.strip()
    if open_.last >= open_.first:
        yield open_.stretch()


def fence_after(head: bytes, fence: bytes) -> bytes:
    """Return the opening line of the fence that is open after the line `head`; empty if none is."""
    found = _FENCE.match(head)
    if found is None:
        return fence
    if not fence:
        # an info string with a backtick makes it inline code
        return b"" if found[1].startswith(b"`") and b"`" in found[2] else head[found.start(1) :]
    opening = _FENCE.match(fence)
    is_end = opening is not None and found[1].startswith(opening[1]) and not found[2].strip()
    return b"" if is_end else fence
