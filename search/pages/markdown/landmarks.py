"""Link targets of a long document outside of the shown stretch: headings and reference definitions.

Only the lines up to the requested one are read, and only the start of each is kept.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO

from markdown_it.token import Token

from search.documents.line_window import line_heads
from search.pages.markdown.tokens import parse, plain_text, slug_of

_DEEPEST = 6


def drop_title(tokens: Sequence[Token], title: str) -> list[Token]:
    """Return the tokens without a first heading that repeats the title, which the page has already."""
    first = next((index for index, token in enumerate(tokens) if token.type == "heading_open"), None)
    if first is None or not title or plain_text(tokens[first + 1]) != title:
        return list(tokens)
    is_first = all(token.type in ("fence", "html_block") for token in tokens[:first])
    return [*tokens[:first], *tokens[first + 3 :]] if is_first else list(tokens)


def lower_headings(tokens: Sequence[Token]) -> frozenset[str]:
    """Change the headings to h2 to h6, add name and original level (as a class), and return all names.

    Screen readers need headings without skipped levels: h1 and h3 become h2 and h3.
    """
    names: Counter[str] = Counter()
    above: list[int] = []
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            level = int(token.tag[1])
            while above and above[-1] >= level:
                above.pop()
            above.append(level)
            tag = f"h{min(len(above) + 1, _DEEPEST)}"
            token.tag = tokens[index + 2].tag = tag
            token.attrJoin("class", f"level-{level}")
            token.meta = {"name": heading_name(plain_text(tokens[index + 1]), names)}
    return frozenset(names)


def heading_name(heading: str, names: Counter[str]) -> str:
    """Return the unique name by which links address a heading; `names` counts the names so far."""
    slug = slug_of(heading)
    name = f"{slug}-{names[slug]}" if names[slug] else slug
    names[slug] += 1
    names[name] += name != slug
    return name


#: The most characters rendered of a line.
MAX_LINE_CHARS = 10_000
#: From this size on, a stretch ends before the next block.
STRETCH_LINES, STRETCH_BYTES = 300, 40_000
#: At this size it ends within a block; only a fence is continued in the next stretch.
MOST_LINES, MOST_BYTES = 600, 80_000
_FENCE = re.compile(rb"[ >]{0,12}(`{3,}|~{3,})(.*)")
_BLOCK_START = re.compile(rb"[^\s]")
_STRETCH_HEADING = re.compile(rb"#{1,6}\s")


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
            _STRETCH_HEADING.match(head) or (was_blank and _BLOCK_START.match(head))
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
