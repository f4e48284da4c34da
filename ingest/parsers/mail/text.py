"""The text of a mail's part as lines, each with its lines in the file."""

import binascii
import codecs
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ingest.parsers.decode import UNSAFE, decode, split_lines
from ingest.parsers.mail.parts import MailPart
from ingest.parsers.types import LineSpan
from search.documents.charset import REPLACEMENT

#: prefixes of the charsets that mail is written in; other codecs are no charsets, or slow ones
CHARSETS: Final = ("utf", "iso", "cp", "koi8", "gb", "big5", "euc", "shift_jis", "mac", "tis", "hz")
BASE64_GROUP: Final = 4

PlacedLine = tuple[str, LineSpan]


def read_text(lines: Sequence[bytes], part: MailPart) -> list[PlacedLine]:
    """Return the lines of text with their places in the file.

    Plain and quoted-printable text has exact lines, base64 the lines that encode it.
    """
    transfer = str(part.headers.get("content-transfer-encoding", "")).strip().lower()
    unpack = {"quoted-printable": _decode_quoted_printable, "base64": _decode_base64}.get(
        transfer, _decode_plain
    )
    pieces = list(unpack(lines[part.body_start - 1 : part.body_end - 1]))
    text = _decoder(_charset(part))(b"".join(pieces))  # as a whole, so that the charset is guessed once
    if text.count("\n") == sum(piece.count(b"\n") for piece in pieces):
        return _place_lines(text, pieces, part.body_start)
    # in UTF-16, HZ or EBCDIC a line end may have other bytes, and this byte another meaning
    whole = LineSpan(part.body_start, max(part.body_start, part.body_end - 1))
    return [(line, whole) for line in split_lines(text)]


def _decode_plain(lines: Sequence[bytes]) -> Iterator[bytes]:
    return (line + b"\n" for line in lines)


def _decode_quoted_printable(lines: Sequence[bytes]) -> Iterator[bytes]:
    return (binascii.a2b_qp(line.rstrip() + b"\n") for line in lines)


def _decode_base64(lines: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the decoded bytes of each line; a group that crosses a line end counts as the later line's.

    Missing padding at the end is added.
    """
    rest = b""
    last = max((number for number, line in enumerate(lines) if line.strip()), default=None)
    for number, line in enumerate(lines):
        rest += b"".join(line.split()) + (b"==" if number == last else b"")
        size = len(rest) - len(rest) % BASE64_GROUP
        try:
            yield binascii.a2b_base64(rest[:size])
        except binascii.Error:
            yield b""
        rest = rest[size:]


def _charset(part: MailPart) -> str | None:
    """Return the codec of the stated charset, None when none is stated or it is no charset."""
    try:
        name = codecs.lookup(part.headers.get_content_charset() or "").name
    except (LookupError, ValueError, TypeError):
        return None
    return name if name.startswith(CHARSETS) else None


def _decoder(charset: str | None) -> Callable[[bytes], str]:
    """Return a decoder of the charset; without one, that of the likeliest charset."""
    if charset is None:
        return decode
    return lambda content: UNSAFE.sub(REPLACEMENT, content.decode(charset, errors="replace"))


def _place_lines(text: str, pieces: Sequence[bytes], first_line: int) -> list[PlacedLine]:
    """Return the lines of `text` with their places; a piece is one decoded line of the file.

    A line end is one byte.
    """
    content = b"".join(pieces)
    starts: list[int] = []
    offset = 0
    for piece in pieces:
        starts.append(offset)
        offset += len(piece)
    placed: list[PlacedLine] = []
    position = 0
    for line, raw in zip(text.split("\n"), content.split(b"\n"), strict=True):
        first = bisect_right(starts, position) - 1
        last = bisect_right(starts, max(position, position + len(raw) - 1)) - 1
        placed.append((line.rstrip("\r"), LineSpan(first_line + first, first_line + max(first, last))))
        position += len(raw) + 1
    while placed and not placed[-1][0].strip():
        placed.pop()
    return placed
