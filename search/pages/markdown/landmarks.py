"""Link targets of a long document outside of the shown stretch: headings and reference definitions."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO

from search.documents.line_window import line_heads
from search.pages.markdown.headings import heading_name
from search.pages.markdown.stretches import fence_after
from search.pages.markdown.tokens import parse, plain_text

#: Longer documents are not scanned; of others at most so many lines, and so many references are kept.
MAX_BYTES, MAX_LINES, MAX_REFERENCES = 2_000_000, 100_000, 1_000
#: Limits of one heading and of all: brackets in headings take quadratic time.
MAX_HEADING_BYTES, MAX_HEADINGS_BYTES = 200, 60_000
_HEAD_BYTES = 1_000
_HEADING = re.compile(rb" {0,3}#{1,6}[ \t]+\S")
_UNDERLINE = re.compile(rb" {0,3}(=+|-+)[ \t]*")
_REFERENCE = re.compile(rb" {0,3}\[[^\[\]]+\]:[ \t]*\S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Landmarks:
    """Headings of a document, each with its line number, and the lines that define references."""

    headings: tuple[tuple[int, str], ...] = ()
    references: tuple[str, ...] = ()

    def lines_by_name(self) -> Mapping[str, int]:
        """Return the line of each heading by the name that links use for it."""
        names: Counter[str] = Counter()
        return {heading_name(_heading_text(heading), names): line for line, heading in self.headings}


def find_landmarks(content: BinaryIO) -> Landmarks:
    """Scan a document for headings and reference definitions, outside of its fences."""
    headings: list[tuple[int, str]] = []
    references: list[str] = []
    left = MAX_HEADINGS_BYTES
    for number, before, line in _outside_fences(content):
        is_underlined = bool(before.strip() and _UNDERLINE.fullmatch(line))
        heading = b"# " + before.lstrip() if is_underlined else line
        if (is_underlined or _HEADING.match(line)) and len(heading) <= min(left, MAX_HEADING_BYTES):
            left -= len(heading)
            headings.append((number - is_underlined, _decode(heading)))
        elif _begins_reference(before, line) and len(references) < MAX_REFERENCES:
            references.append(_decode(line))
    return Landmarks(headings=tuple(headings), references=tuple(references))


def _outside_fences(content: BinaryIO) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield (number, previous line, line)."""
    fence, before = b"", b""
    lines = islice(line_heads(content, head_bytes=_HEAD_BYTES), MAX_LINES)
    for number, (line, _) in enumerate(lines, start=1):
        was_fenced, fence = fence, fence_after(line, fence)
        is_fenced = bool(was_fenced or fence)
        if not is_fenced:
            yield number, before, line
        before = b"" if is_fenced else line


def _begins_reference(before: bytes, line: bytes) -> bool:
    """Return whether a line is a complete reference definition; within a paragraph it would be text."""
    is_whole = len(line) < _HEAD_BYTES
    is_apart = not before.strip() or bool(_REFERENCE.match(before))
    return is_whole and is_apart and bool(_REFERENCE.match(line))


def _decode(line: bytes) -> str:
    return line.decode(errors="replace")


def _heading_text(heading: str) -> str:
    inline = (token for token in parse([heading], first=1) if token.type == "inline")
    return "".join(map(plain_text, inline))
