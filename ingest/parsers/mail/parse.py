"""Parser of mail: subject as title, sender and date, then the text; each line with its place in the file."""

from collections.abc import Iterator, Sequence
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any, Final

from ingest.parsers.errors import ParseRefused
from ingest.parsers.mail.parts import MailPart, inner_parts, mail_lines, read_part
from ingest.parsers.mail.text import PlacedLine, read_text
from ingest.parsers.markup.html import parse_html
from ingest.parsers.text import paragraphs
from ingest.parsers.types import Block, FileType, LineSpan, Outline

SHOWN_HEADERS: Final = ("From", "To", "Cc", "Date")
#: a file without any of these is no mail, whatever its name
MAIL_HEADERS: Final = frozenset({"from", "to", "subject", "date", "received", "message-id", "mime-version"})
LOCKED_TYPES: Final = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime", "multipart/encrypted"})
MAX_PARTS: Final = 500
MAX_ALTERNATIVES: Final = 20
#: a mail of 100 MB has 1.4 million lines
MAX_LINES: Final = 3_000_000
TITLE_CHARS: Final = 80


def parse_email(content: bytes, file: FileType) -> Outline:
    """Return the text of a mail and of the mails forwarded in it; of attachments only the names.

    Origins are lines of the file, also for encoded text.

    Raises:
        ParseRefused: the mail is encrypted (`encrypted`) or has more than MAX_LINES lines (`too_large`).
        ValueError: the file is no mail.
    """
    if content.count(b"\n") > MAX_LINES:
        raise ParseRefused("too_large", f"the mail has more than {MAX_LINES} lines")
    lines = mail_lines(content)
    mail = read_part(lines, 1, len(lines) + 1)
    if not MAIL_HEADERS & mail.header_spans.keys():
        raise ValueError("it has no header of a mail")
    reader = _MailReader(lines, file)
    reader.read_mail(mail)
    if not reader.has_text and reader.is_locked:
        raise ParseRefused("encrypted", "the mail is encrypted: save it decrypted")
    return Outline(
        lines=reader.lines,
        blocks=reader.blocks,
        origins=reader.origins,
        title=mail.header("subject") or reader.first_words,
        metadata=_metadata(mail),
        warnings=reader.warnings,
    )


def _metadata(mail: MailPart) -> dict[str, Any]:
    stated = {
        "author": mail.header("from"),
        "to": mail.header("to"),
        "created": _parse_date(mail.header("date")),
    }
    return {name: value for name, value in stated.items() if value}


def _parse_date(date: str) -> str | None:
    """Return the date in ISO 8601, None for an invalid one."""
    try:
        return parsedate_to_datetime(date).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


class _MailReader:
    """Reader of a mail that collects its lines in reading order."""

    def __init__(self, raw: Sequence[bytes], file: FileType) -> None:
        self.lines: list[str] = []
        self.blocks: list[Block] = []
        self.origins: list[LineSpan] = []
        self.has_text = False
        self.is_locked = False
        self.first_words: str | None = None
        self._raw = raw
        self._file = file
        self._parts_left = MAX_PARTS
        self._attachments: list[PlacedLine] = []

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the warning about unread parts, if there are any."""
        return (f"only the first {MAX_PARTS} parts were read",) if self._parts_left < 0 else ()

    def read_mail(self, mail: MailPart) -> None:
        """Write headers, text, then the names of attachments."""
        outer, self._attachments = self._attachments, []
        shown = [(f"{name}: {text}", mail.header_spans[name.lower()]) for name, text in _shown_headers(mail)]
        self._write("list", shown)
        self._read_body(mail)
        attachments, self._attachments = self._attachments, outer
        self._write("list", attachments)

    def _read_body(self, part: MailPart) -> None:
        self._parts_left -= 1
        if self._parts_left < 0:
            return
        kind = part.content_type
        self.is_locked |= kind in LOCKED_TYPES
        if kind == "message/rfc822":
            self._read_forwarded(part)
        elif _is_attachment(part):
            self._attachments.append(_attachment_line(part))
        elif kind == "multipart/alternative":
            self._read_alternative(list(islice(inner_parts(self._raw, part), MAX_ALTERNATIVES)))
        elif kind.startswith("multipart/"):
            # one more than may be read, so that unread parts cause a warning
            for inner in islice(inner_parts(self._raw, part), self._parts_left + 1):
                self._read_body(inner)
        elif kind == "text/html":
            self._write_html(read_text(self._raw, part))
        elif kind.startswith("text/"):
            self._write_text(read_text(self._raw, part))

    def _read_alternative(self, parts: Sequence[MailPart]) -> None:
        """Read the first part that is plain text with words in it, else the last, which is the richest."""
        plain = (part for part in parts if part.content_type == "text/plain")
        filled = (part for part in plain if any(text.strip() for text, _ in read_text(self._raw, part)))
        chosen = next(filled, parts[-1] if parts else None)
        if chosen is not None:
            self._read_body(chosen)

    def _read_forwarded(self, part: MailPart) -> None:
        for mail in inner_parts(self._raw, part):
            subject = mail.header("subject") or part.file_name or "Forwarded message"
            origin = mail.header_spans.get("subject", LineSpan(mail.start, mail.start))
            self._append([(subject, origin)])
            span = LineSpan(len(self.lines), len(self.lines))
            self.blocks.append(Block(kind="heading", span=span, text=subject, level=1))
            self.read_mail(mail)

    def _write_html(self, placed: Sequence[PlacedLine]) -> None:
        page = parse_html("\n".join(text for text, _ in placed).encode(), self._file)
        # a page of nothing but markup has no lines, and so no origins
        for block in page.blocks:
            inner = [
                (page.lines[number - 1], _file_span(placed, page.origins, number))
                for number in range(block.span.start, block.span.end + 1)
            ]
            self._note_text(inner)
            span = self._append(inner)
            self.blocks.append(
                Block(kind=block.kind, span=span, text=block.text, level=block.level, language=block.language)
            )

    def _write_text(self, placed: Sequence[PlacedLine]) -> None:
        self._note_text(placed)
        texts = [text for text, _ in placed]
        for span in paragraphs(texts, 1, len(texts)):
            paragraph = placed[span.start - 1 : span.end]
            is_quote = all(text.startswith(">") for text, _ in paragraph)
            self._write("quote" if is_quote else "paragraph", paragraph)

    def _note_text(self, placed: Sequence[PlacedLine]) -> None:
        words = next((text.strip() for text, _ in placed if text.strip()), None)
        self.has_text = self.has_text or words is not None
        self.first_words = self.first_words or (words and words[:TITLE_CHARS].rstrip())

    def _write(self, kind: Any, placed: Sequence[PlacedLine]) -> None:
        if placed:
            self.blocks.append(Block(kind=kind, span=self._append(placed)))

    def _append(self, placed: Sequence[PlacedLine]) -> LineSpan:
        if self.lines:
            self.lines.append("")
            self.origins.append(placed[0][1])
        start = len(self.lines) + 1
        self.lines += [text for text, _ in placed]
        self.origins += [origin for _, origin in placed]
        return LineSpan(start, len(self.lines))


def _shown_headers(mail: MailPart) -> Iterator[tuple[str, str]]:
    for name in SHOWN_HEADERS:
        if text := mail.header(name):
            yield name, text


def _is_attachment(part: MailPart) -> bool:
    """Return whether the part is an attachment: declared as one, or not readable text."""
    if part.content_type.startswith("multipart/"):
        return False
    is_declared = (part.headers.get_content_disposition() or "") == "attachment"
    return is_declared or not part.content_type.startswith("text/") or part.content_type == "text/calendar"


def _attachment_line(part: MailPart) -> PlacedLine:
    stated = part.header_spans.get("content-disposition") or part.header_spans.get("content-type")
    name = part.file_name or "without a name"
    return f"Attachment: {name} ({part.content_type})", stated or LineSpan(part.start, part.start)


def _file_span(placed: Sequence[PlacedLine], origins: Any, number: int) -> LineSpan:
    """Return the lines of the file that line `number` of an HTML part was read from."""
    inner = origins[number - 1]
    last = min(len(placed), inner.end)
    return LineSpan.around([origin for _, origin in placed[min(last, inner.start) - 1 : last]])
