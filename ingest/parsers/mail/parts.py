"""The parts of a mail, each with its lines in the file.

The standard library reads headers and types of parts, but does not report their lines; so the file is
split into parts here (RFC 2046, section 5.1).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from email.parser import HeaderParser
from email.utils import collapse_rfc2231_value
from typing import Final

from ingest.parsers.decode import UNSAFE, decode
from ingest.parsers.types import LineSpan
from search.documents.charset import REPLACEMENT, charset_for_label

HEADER: Final = re.compile(rb"[!-9;-~]+[ \t]*:")
#: the name of an encoding, which quotes, a comment or a parameter may surround
ENCODING: Final = re.compile(r'[\s"]*([\w-]+)')
#: a line that may separate parts, where their boundary isn't stated
BOUNDARY: Final = re.compile(rb"--[\w'()+,./:=? -]{3,70}(?<! )")
MAX_HEADER_CHARS: Final = 10_000
MAX_HEADER_LINES: Final = 5_000
MAX_DEPTH: Final = 16
OCTETS: Final = "application/octet-stream"
MAIL_TYPES: Final = frozenset({"message/rfc822", "message/global", "message/news"})
#: headers of a part that is a mail
MAIL: Final = HeaderParser().parsestr("Content-Type: message/rfc822\n\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class MailPart:
    """A mail or one part of it; line numbers are 1-based."""

    headers: Message
    #: lines of each header by its name in lower case, of the first where it is repeated
    header_spans: dict[str, LineSpan]
    #: first line of the headers
    start: int
    #: lines of the body: from `body_start` up to and excluding `body_end`
    body_start: int
    body_end: int
    depth: int = 0

    @property
    def content_type(self) -> str:
        """Return type and subtype, lower case; `text/plain` where none is stated."""
        return self.headers.get_content_type()

    @property
    def is_mail(self) -> bool:
        """Return whether the part is a mail of its own."""
        is_file = self.content_type == OCTETS and (self.file_name or "").lower().endswith(".eml")
        return is_file or self.content_type in MAIL_TYPES

    @property
    def file_name(self) -> str | None:
        """Return the part's file name, or None."""
        try:
            return decode_value(self.headers.get_filename() or "") or None
        except (LookupError, UnicodeError, ValueError):
            return None

    @property
    def is_attachment(self) -> bool:
        """Return whether the part is declared as an attachment, or has a file's name."""
        return self.headers.get_content_disposition() == "attachment" or self.file_name is not None

    @property
    def transfer_encoding(self) -> str:
        """Return the encoding of the body, lower case; empty where none is stated."""
        stated = ENCODING.match(str(self.headers.get("content-transfer-encoding", "")))
        return stated[1].lower() if stated else ""

    @property
    def body_span(self) -> LineSpan:
        """Return all lines of the body."""
        return LineSpan(self.body_start, max(self.body_start, self.body_end - 1))

    def parameter(self, name: str) -> str | None:
        """Return a parameter of the content type, None without it."""
        try:
            value = self.headers.get_param(name)
        except (LookupError, UnicodeError, ValueError):
            return None
        return collapse_rfc2231_value(value).strip() if value else None

    def header(self, name: str) -> str:
        """Return a header decoded, on one line; empty when it is missing."""
        return decode_value(str(self.headers.get(name, "")))


def mail_lines(content: bytes) -> list[bytes]:
    """Return the lines of a mail as an editor numbers them, without their ends."""
    text = content.removeprefix(b"\xef\xbb\xbf")
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")


def read_part(lines: Sequence[bytes], start: int, end: int, depth: int = 0) -> MailPart:
    """Return the part on lines `start` up to and excluding `end`: its headers and the lines of its body."""
    spans: dict[str, LineSpan] = {}
    number, name = start, ""
    limit = min(end, start + MAX_HEADER_LINES)
    while number < limit and lines[number - 1].strip():
        line = lines[number - 1]
        if HEADER.match(line):
            name = line.partition(b":")[0].strip().decode("ascii").lower()
            spans.setdefault(name, LineSpan(number, number))
        elif line[:1] in b" \t" and name:
            if spans[name].end == number - 1:
                spans[name] = LineSpan(spans[name].start, number)
        elif not (number == start and line.startswith(b"From ")):
            break
        number += 1
    text = decode(b"\n".join(lines[start - 1 : number - 1]))
    has_separator = number < end and not lines[number - 1].strip()
    return MailPart(
        headers=HeaderParser().parsestr(text),
        header_spans=spans,
        start=start,
        body_start=number + has_separator,
        body_end=end,
        depth=depth,
    )


def inner_parts(lines: Sequence[bytes], part: MailPart) -> Iterator[MailPart]:
    """Yield the parts of a multipart body, or the mail that a part contains; none beyond MAX_DEPTH."""
    if part.is_mail and part.depth < MAX_DEPTH:
        yield read_part(lines, part.body_start, part.body_end, part.depth + 1)
    for start, end in inner_spans(lines, part):
        yield inner_part(lines, start, end, part)


def inner_spans(lines: Sequence[bytes], part: MailPart) -> Iterator[tuple[int, int]]:
    """Yield the first line of each part of a multipart body, and the one below it; none beyond MAX_DEPTH."""
    if part.depth >= MAX_DEPTH or part.is_mail or (opening := _opening(lines, part)) is None:
        return
    start = 0
    for number in range(part.body_start, part.body_end):
        line = lines[number - 1]
        if not line.startswith(opening) or line.rstrip().removesuffix(b"--").rstrip() != opening:
            continue
        if start:
            yield start, number
        start = number + 1
        if line.rstrip() != opening:
            return
    if 0 < start < part.body_end:
        yield start, part.body_end


def inner_part(lines: Sequence[bytes], start: int, end: int, outer: MailPart) -> MailPart:
    """Return a part of a multipart body; those of a digest are mails, with headers of a part above or not."""
    inner = read_part(lines, start, end, outer.depth + 1)
    if outer.content_type != "multipart/digest" or inner.is_mail:
        return inner
    if "subject" in inner.header_spans or "from" in inner.header_spans:
        return replace(inner, headers=MAIL, header_spans={}, body_start=start)
    inner.headers.set_default_type(MAIL.get_content_type())
    return inner


def _opening(lines: Sequence[bytes], part: MailPart) -> bytes | None:
    """Return the line that begins each part of a multipart body, None without one.

    Where no boundary is stated, or no line has it, it is the first line that looks like one and precedes a
    header.
    """
    stated = part.headers.get_boundary()
    body = range(part.body_start - 1, part.body_end - 1)
    if stated:
        opening = b"--" + stated.encode("utf-8", "surrogateescape").rstrip()
        if any(lines[index].startswith(opening) and lines[index].rstrip() == opening for index in body):
            return opening
    for index in body[:-1]:
        line = lines[index].rstrip()
        if line.startswith(b"--") and BOUNDARY.fullmatch(line) and HEADER.match(lines[index + 1]):
            return line
    return None


def decode_value(value: str) -> str:
    """Return a header's value with its encoded words decoded (RFC 2047), on one line."""
    value = value[:MAX_HEADER_CHARS]
    try:
        text = "".join(map(_decode_word, decode_header(value)))
    except (UnicodeError, ValueError, MessageError):
        text = value
    return UNSAFE.sub(REPLACEMENT, " ".join(text.split()))


def _decode_word(word: tuple[str | bytes, str | None]) -> str:
    """Return a part of a header's value from `decode_header`; text beside encoded words is bytes, too."""
    value, label = word
    if isinstance(value, str):
        return value
    if label is None:
        return value.decode("raw-unicode-escape")
    return decode(value, charset_for_label(label))
