"""Windows of lines from a document of any length, numbered as in an editor.

The bytes are read in blocks and only the window is kept, so memory use is the same for 1 kB and 100 MB.
"""

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from search.documents.charset import charset_of, marked_charset, wide_charset

_BLOCK_BYTES = 1 << 20
_NOT_ASCII = bytes(range(0x80, 0x100))
#: Maximum length of a line; minified files have lines of megabytes.
MAX_LINE_CHARS = 2_000
#: Default size of the head of a line.
HEAD_BYTES = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the document; `is_cut` if it is longer than the requested maximum."""

    #: From 1.
    number: int
    text: str
    is_cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LineWindow:
    """Consecutive lines of a document, and its total number of lines."""

    lines: tuple[Line, ...]
    total: int


def read_lines(
    content: BinaryIO, *, first: int, count: int, max_line_chars: int = MAX_LINE_CHARS
) -> LineWindow:
    """Return up to `count` lines from line `first`. CRLF, LF and a lone CR each end a line.

    Past the end there are none. Text is decoded with the same charset detection as in the parsers
    (`search.documents.charset`); invalid bytes become U+FFFD.
    """
    head = content.read(_BLOCK_BYTES)
    collector = _WindowCollector(first=first, count=count, max_line_bytes=4 * max_line_chars)
    for block in _unix_line_ends(_as_utf8(head, content)):
        collector.add(block)
    raw = collector.raw_lines()
    charset = _charset([line for line in raw if len(line) <= collector.max_line_bytes], head)
    lines = (_line(number, line, charset, max_line_chars) for number, line in enumerate(raw, start=first))
    return LineWindow(lines=tuple(lines), total=collector.total)


def line_heads(content: BinaryIO, *, head_bytes: int = HEAD_BYTES) -> Iterator[tuple[bytes, int]]:
    """Return the first bytes of each line and its length in bytes without the line end, in order.

    It reads only as far as the iterator is consumed.
    """
    head, length = b"", 0
    for block in _unix_line_ends(_as_utf8(content.read(_BLOCK_BYTES), content)):
        *lines, rest = block.split(b"\n")
        for piece in lines:
            yield (head + piece[:head_bytes])[:head_bytes], length + len(piece)
            head, length = b"", 0
        head, length = (head + rest[:head_bytes])[:head_bytes], length + len(rest)
    if length:
        yield head, length


@dataclass(slots=True, kw_only=True)
class _WindowCollector:
    """The window's lines so far, each up to one byte past the limit, and the lines seen."""

    first: int
    count: int
    max_line_bytes: int
    ended_lines: int = 0
    is_open: bool = False
    lines: list[bytearray] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.ended_lines + self.is_open

    def add(self, block: bytes) -> None:
        if not block:
            return
        number = self.ended_lines + 1
        ends = block.count(b"\n")
        if number < self.first + self.count and number + ends >= self.first:
            for offset, piece in enumerate(block.split(b"\n")):
                self._append(number + offset, piece)
        self.ended_lines += ends
        self.is_open = not block.endswith(b"\n")

    def raw_lines(self) -> list[bytes]:
        """Return the lines; an empty rest after the last line end is no line."""
        return [bytes(line) for line in self.lines[: max(0, self.total - self.first + 1)]]

    def _append(self, number: int, piece: bytes) -> None:
        index = number - self.first
        if not 0 <= index < self.count:
            return
        if index == len(self.lines):
            self.lines.append(bytearray())
        line = self.lines[index]
        line += piece[: self.max_line_bytes + 1 - len(line)]


def _as_utf8(head: bytes, content: BinaryIO) -> Iterator[bytes]:
    """Return the bytes in blocks without a byte order mark; UTF-16 and UTF-32 are converted to UTF-8."""
    charset = marked_charset(head) or wide_charset(head)
    if charset is not None:
        decoder = codecs.getincrementaldecoder(charset)(errors="replace")
        for block in _blocks(head, content):
            yield decoder.decode(block, final=not block).encode()
        return
    yield from _blocks(head.removeprefix(codecs.BOM_UTF8), content)


def _blocks(head: bytes, content: BinaryIO) -> Iterator[bytes]:
    """Return all blocks, then an empty one."""
    yield head
    while block := content.read(_BLOCK_BYTES):
        yield block
    yield b""


def _unix_line_ends(blocks: Iterator[bytes]) -> Iterator[bytes]:
    pending = b""
    for block in blocks:
        # A CR at the end of a block may be half of a CRLF, except after the last block.
        whole = pending + block
        pending = b"\r" if block and whole.endswith(b"\r") else b""
        yield whole[: len(whole) - len(pending)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _charset(lines: Sequence[bytes], head: bytes) -> str:
    """Return the charset of the head; where that is only ASCII, that of the lines."""
    if marked_charset(head) or wide_charset(head):
        return "utf-8"  # which the lines were converted to
    if len(head) == _BLOCK_BYTES:  # which may end inside a character
        head = head[: head.rfind(b"\n") + 1] or head.rstrip(_NOT_ASCII)
    is_plain = head.isascii() and b"\x1b" not in head
    return charset_of(b"\n".join(lines) if is_plain else head).removesuffix("-sig")


def _line(number: int, raw: bytes, charset: str, max_chars: int) -> Line:
    text = raw.decode(charset, errors="replace").replace("\0", "\ufffd")
    is_cut = len(raw) > 4 * max_chars or len(text) > max_chars
    return Line(number=number, text=text[:max_chars], is_cut=is_cut)
