"""Text of mails: decoded words and bodies, and the source text of mails that have no parts."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.mail.parts import MailPart
from ingest.parsers.mail.transfer import decode_lines
from ingest.parsers.text import paragraphs
from ingest.parsers.types import Block, FileType, LineSpan, Outline
from search.documents.charset import charset_for_label

#: headers that announce encoded text
ENCODED: Final = re.compile(r"content-transfer-encoding:\s*(?:base64|x-?uue)", re.IGNORECASE)
#: a line that is nothing but base64, as long as programs write it
BASE64_LINE: Final = re.compile(r"[A-Za-z0-9+/]{56,}={0,2}\s*")
BOUNDARY: Final = "--"


def parse_mail_source(content: bytes, file: FileType) -> Outline:
    """Return the lines of the file with its headers; base64 lines are in no block, so they aren't indexed."""
    lines = split_lines(decode(content))
    blocks = [
        Block(kind="paragraph", span=span)
        for start, end in _readable_runs(lines)
        for span in paragraphs(lines, start, end)
    ]
    return Outline(lines=lines, blocks=blocks)


def _readable_runs(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the runs of lines that are not encoded: numbers of the first and the last, from 1."""
    start, is_announced, is_encoded = 0, False, False
    for number, line in enumerate(lines, start=1):
        if line.startswith(BOUNDARY):
            is_announced = is_encoded = False
        elif ENCODED.match(line):
            is_announced = True
        elif is_announced and not line.strip():
            is_encoded = True
        if is_encoded or BASE64_LINE.fullmatch(line):
            if start:
                yield start, number - 1
            start = 0
        else:
            start = start or number
    if start:
        yield start, len(lines)


#: labels that mails without a charset of their own state, whatever their bytes are
NO_CHARSET: Final = frozenset({"", "us-ascii", "ascii", "ansi_x3.4-1968"})
#: characters of a joined line (format=flowed)
MAX_FLOWED: Final = 20_000
SIGNATURE: Final = "-- "

PlacedLine = tuple[str, LineSpan]


def read_text(lines: Sequence[bytes], part: MailPart) -> list[PlacedLine]:
    """Return the lines of text with their places in the file.

    Plain and quoted-printable text has exact lines, base64 the lines that encode it.
    """
    pieces = read_bytes(lines, part)
    content = b"".join(pieces)
    label = (part.parameter("charset") or "").lower()
    # as a whole, so that the charset is guessed once
    text = decode(content, None if label in NO_CHARSET else charset_for_label(label))
    if text.count("\n") == sum(piece.count(b"\n") for piece in pieces):
        placed = _place_lines(text, pieces, part.body_start)
    else:  # in UTF-16, HZ or EBCDIC a line end may have other bytes, and this byte another meaning
        placed = [(line, part.body_span) for line in split_lines(text)]
    if part.parameter("format") == "flowed":
        return _join_flowed(placed, deletes_space=part.parameter("delsp") == "yes")
    return placed


def read_bytes(lines: Sequence[bytes], part: MailPart) -> list[bytes]:
    """Return the decoded bytes of each line of a part, with line ends."""
    return decode_lines(lines[part.body_start - 1 : part.body_end - 1], part.transfer_encoding)


def _join_flowed(placed: Sequence[PlacedLine], *, deletes_space: bool) -> list[PlacedLine]:
    """Return the lines with those joined that end with a space (RFC 3676), up to MAX_FLOWED characters."""
    joined: list[PlacedLine] = []
    pieces: list[str] = []
    spans: list[LineSpan] = []
    depth, is_open, size = 0, False, 0

    def close() -> None:
        if spans:
            prefix = f"{'>' * depth} " if depth else ""
            joined.append(((prefix + "".join(pieces)).rstrip(), LineSpan.around(spans)))
        pieces.clear()
        spans.clear()

    for line, span in placed:
        text = line.lstrip(">")
        quotes = len(line) - len(text)
        text = text.removeprefix(" ")
        if not is_open or quotes != depth or text == SIGNATURE or size > MAX_FLOWED:
            close()
            size = 0
        depth = quotes
        is_open = text.endswith(" ") and text != SIGNATURE
        pieces.append(text[:-1] if is_open and deletes_space else text)
        spans.append(span)
        size += len(text)
    close()
    return joined


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
