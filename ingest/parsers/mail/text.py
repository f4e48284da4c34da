"""Text of mails: decoded words and bodies, and the source text of mails that have no parts."""

import binascii
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.mail.parts import MailPart
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


BASE64_GROUP: Final = 4
BASE64: Final = re.compile(rb"[A-Za-z0-9+/]+={0,2}")
#: bytes of a line of base64 that is no word
LONG_LINE: Final = 40
#: bytes of a line of base64 that nothing announces
WHOLE_LINE: Final = 60
#: bytes that text does not have
CONTROL: Final = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]")
#: escapes that quoted-printable needs: of line ends, of its own sign, and outside of ASCII
QUOTED: Final = re.compile(rb"=(?:[ \t]*$|3D|20|09|0[AD]|2E|46|5F|[89A-F][0-9A-F])", re.MULTILINE)
QUOTED_UTF8: Final = re.compile(rb"=[C-F][0-9A-F]=[89AB][0-9A-F]")
SOFT_BREAK: Final = re.compile(rb"^[^\n]{60,75}=[ \t]*$", re.MULTILINE)
NOT_QUOTED: Final = re.compile(rb"=(?![0-9A-Fa-f]{2}|[ \t]*$)", re.MULTILINE)

Decode = Callable[[Sequence[bytes]], Iterator[bytes]]


def decode_lines(lines: Sequence[bytes], stated: str) -> list[bytes]:
    """Return the decoded bytes of each line of a part, with line ends; `stated` is its encoding."""
    return list(_decoder(lines, stated)(lines))


def _decoder(lines: Sequence[bytes], stated: str) -> Decode:
    if stated == "base64" or _is_unstated_base64(lines):
        return _decode_base64
    body = b"\n".join(lines)
    if NOT_QUOTED.search(body):
        is_quoted = stated == "quoted-printable" and QUOTED.search(body) is not None
    else:
        is_quoted = stated == "quoted-printable" or bool(QUOTED_UTF8.search(body) or SOFT_BREAK.search(body))
    return _decode_quoted_printable if is_quoted else _decode_plain


def _is_unstated_base64(lines: Sequence[bytes]) -> bool:
    """Return whether lines of one length, but for the last, are text in base64."""
    texts = [text for line in lines if (text := line.strip())]
    widths = {len(text) for text in texts[:-1]} or {len(text) for text in texts}
    if len(widths) != 1 or min(widths) < WHOLE_LINE or not all(map(BASE64.fullmatch, texts)):
        return False
    return CONTROL.search(b"".join(_decode_base64(texts))) is None


def _decode_plain(lines: Sequence[bytes]) -> Iterator[bytes]:
    return (line + b"\n" for line in lines)


def _decode_quoted_printable(lines: Sequence[bytes]) -> Iterator[bytes]:
    return (binascii.a2b_qp(line.rstrip() + b"\n") for line in lines)


def _decode_base64(lines: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the decoded bytes of each line; a group that crosses a line end counts as the later line's.

    Missing padding at the end is added. Lines of text, such as a mailing list adds below, stay as they are.
    """
    encoded = _encoded_lines(lines)
    if not encoded:
        yield from _decoder(lines, "")(lines)
        return
    rest = b""
    last = max(encoded)
    for number, line in enumerate(lines):
        if number not in encoded:
            yield line + b"\n" if line.strip() or number > last else b""
            continue
        rest += line.strip() + (b"==" if number == last else b"")
        size = len(rest) - len(rest) % BASE64_GROUP
        try:
            yield binascii.a2b_base64(rest[:size])
        except binascii.Error:
            yield b""
        rest = rest[size:]


def _encoded_lines(lines: Sequence[bytes]) -> set[int]:
    """Return the indexes of the lines in base64: those before the first of text, and runs of long ones."""
    encoded: set[int] = set()
    is_open, is_mixed, size, longest, end = True, False, 0, 0, b""
    for number, line in enumerate(lines):
        text = line.strip()
        if not text:
            continue
        is_open = BASE64.fullmatch(text) is not None and (is_open or len(text) >= LONG_LINE)
        is_mixed |= not is_open
        if is_open:
            encoded.add(number)
            size, longest, end = size + len(text), max(longest, len(text)), text
    is_whole = size % BASE64_GROUP == 0 and end.endswith(b"=")
    is_likely = is_whole or longest >= LONG_LINE or (not is_mixed and size % BASE64_GROUP != 1)
    return encoded if is_likely else set()


PGP: Final = re.compile(r"-----BEGIN PGP (MESSAGE|SIGNATURE|SIGNED MESSAGE|PUBLIC KEY BLOCK)-----\s*")
UUENCODED: Final = re.compile(r"begin(?:-base64)? [0-7]{3,4} (\S.{0,200})")
#: a line is its number of bytes, then groups of four signs, of which blanks may be cut at the end
UUENCODED_LINE: Final = re.compile(r"[!-M][ -`]+")
SHORTEST_ENCODED: Final = 5
#: lines below the first one of a signed text
ARMOUR_HEADER: Final = re.compile(r"Hash: [\w, -]+")


def without_armour(placed: Sequence[PlacedLine]) -> tuple[list[PlacedLine], list[PlacedLine]]:
    """Return the readable lines, and a line for each encrypted text and each encoded file."""
    if not any(text.startswith(("-----BEGIN PGP", "begin")) for text, _ in placed):
        return list(placed), []
    readable: list[PlacedLine] = []
    closed: list[PlacedLine] = []
    end = ""
    for index, (text, span) in enumerate(placed):
        if end:
            end = "" if text.startswith(end) else end
        elif begun := PGP.fullmatch(text):
            if begun[1] == "MESSAGE":
                closed.append(("Encrypted text (PGP)", span))
            end = "" if begun[1] == "SIGNED MESSAGE" else f"-----END PGP {begun[1]}-----"
        elif (begun := UUENCODED.fullmatch(text)) and _is_encoded(placed[index + 1 : index + 2]):
            closed.append((f"Attachment: {begun[1].strip()} (uuencoded)", span))
            end = "====" if "-base64" in text else "end"
        elif not (ARMOUR_HEADER.fullmatch(text) and index and PGP.fullmatch(placed[index - 1][0])):
            readable.append((text, span))
    return readable, closed


def _is_encoded(lines: Sequence[PlacedLine]) -> bool:
    """Return whether the first of the lines is in base64, or in uuencode, which may have blanks."""
    line = lines[0][0].rstrip() if lines else ""
    if len(line) < SHORTEST_ENCODED or not line.isascii():
        return False
    groups = -(-((ord(line[0]) - ord(" ")) % 64) // 3)
    return " " not in line or (UUENCODED_LINE.fullmatch(line) is not None and len(line) <= 1 + 4 * groups)
