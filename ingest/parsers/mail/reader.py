"""Reader of one mail: headers, the better of its texts, calendars, attached texts and mails."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import unescape
from itertools import islice
from typing import Any, Final

from ingest.parsers.closed_formats import ClosedFormat, closed_format, format_by_name
from ingest.parsers.file_types import type_by_name
from ingest.parsers.mail.cards import MAX_EVENTS, read_events
from ingest.parsers.mail.parts import (
    MAX_DEPTH,
    MailPart,
    inner_part,
    inner_parts,
    inner_spans,
    mail_lines,
    read_part,
)
from ingest.parsers.mail.text import PlacedLine, read_bytes, read_text, without_armour
from ingest.parsers.markup.html import parse_html
from ingest.parsers.text import paragraphs
from ingest.parsers.types import Block, BlockKind, FileType, LineSpan, Outline, OutlineDraft

SHOWN_HEADERS: Final = ("From", "To", "Cc", "Date")
MAX_PARTS: Final = 500
MAX_ALTERNATIVES: Final = 20
#: lines of an attached text that is read
MAX_ATTACHED_LINES: Final = 50_000
TITLE_CHARS: Final = 80
#: types of text beside `text/…`
TEXT_TYPES: Final = frozenset(
    {
        *("application/json", "application/xml", "application/yaml", "application/x-yaml", "application/csv"),
        *("message/delivery-status", "message/rfc822-headers"),
    }
)
#: types of parts that aren't opened, with a name of files in the same format
CLOSED_TYPES: Final = {
    "application/pkcs7-mime": "smime.p7m",
    "application/x-pkcs7-mime": "smime.p7m",
    "multipart/encrypted": "mail.pgp",
    "application/ms-tnef": "winmail.dat",
    "application/vnd.ms-tnef": "winmail.dat",
}
#: ends of names of such attachments; of others, not even the name says what they are
CLOSED_NAMES: Final = (".p7m", ".dat")
#: share of the HTML part's words that a text part has, if it says the same
SAME_SHARE: Final = 0.5
PAGE_START: Final = re.compile(r"\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
TAG: Final = re.compile(r"<[^<>]*>")
WORD: Final = re.compile(r"[\u3040-\u9fff]|[^\W_]{2,}")
CODE_BLOCKS: Final = frozenset({"json", "yaml", "xml", "toml", "ini", "log"})


class MailReader(OutlineDraft):
    """Reader of mails that collects their lines in reading order, each with its lines in the file."""

    def __init__(self, raw: Sequence[bytes], file: FileType, *, level: int = 1) -> None:
        super().__init__()
        self.has_text = False
        self.is_locked = False
        self.first_words: str | None = None
        self._raw = raw
        self._file = file
        #: level of the headings of attachments
        self._level = level
        self._parts_left = MAX_PARTS
        self._names: list[PlacedLine] = []
        self._later: list[MailPart] = []
        self._events: set[str] = set()

    def read_mail(self, mail: MailPart) -> None:
        """Write headers, text, names of attachments, then attached texts and mails as sections."""
        outer = self._names, self._later
        self._names, self._later = [], []
        shown = [(f"{name}: {text}", mail.header_spans[name.lower()]) for name, text in _shown_headers(mail)]
        self._write("list", shown)
        self._read_body(mail)
        self._write("list", self._names)
        later = self._later
        self._names, self._later = outer
        for part in later:
            self._read_section(part)

    def read_pages(self, archive: MailPart) -> Iterator[Outline]:
        """Write the pages of a web archive, which may have frames, and yield each as it was read."""
        self._parts_left -= 1
        if archive.content_type == "text/html":
            yield self._write_html(read_text(self._raw, archive))
        elif archive.content_type.startswith("multipart/"):
            for part in islice(inner_parts(self._raw, archive), max(0, self._parts_left)):
                yield from self.read_pages(part)

    def begin_section(self, heading: str, origin: LineSpan) -> None:
        """Write the heading of a mail among others, and allow for as many parts as a mail alone has."""
        self._parts_left = MAX_PARTS
        self.first_words = None
        self._write_heading(heading, origin, level=self._level - 1)

    def _read_body(self, part: MailPart) -> None:
        self._parts_left -= 1
        if self._parts_left < 0:
            self.omitted("beyond_limit", where="parts")
            return
        kind = part.content_type
        if closed := self._closed_format(part):
            self._name_closed(part, closed)
        elif part.is_mail:
            self._later.append(part)
        elif kind == "text/calendar":
            self._write_calendar(read_text(self._raw, part))
        elif part.is_attachment and not kind.startswith("multipart/"):
            self._add_attachment(part)
        elif kind == "multipart/alternative":
            self._read_alternative(part)
        elif kind.startswith("multipart/"):
            self._read_parts(part)
        elif kind == "text/html":
            self._write_html(read_text(self._raw, part))
        elif kind.startswith("text/") or kind in TEXT_TYPES:
            self._write_text(read_text(self._raw, part))
        else:
            self._add_attachment(part)

    def _read_parts(self, part: MailPart) -> None:
        """Read the parts of a multipart body, or the body as text where it has none."""
        spans = inner_spans(self._raw, part)
        is_divided = False
        for start, end in islice(spans, max(0, self._parts_left)):
            is_divided = True
            self._read_body(inner_part(self._raw, start, end, part))
        left_out = sum(1 for _ in spans)
        self.omitted("beyond_limit", left_out, "parts")
        if not is_divided and not left_out and part.depth < MAX_DEPTH:
            text = read_text(self._raw, part)
            self._write_text([line for line in text if not line[0].startswith("--")])

    def _read_alternative(self, whole: MailPart) -> None:
        """Read the plain text, unless it lacks what the HTML says; then every calendar."""
        parts = list(islice(inner_parts(self._raw, whole), MAX_ALTERNATIVES))
        calendars = [part for part in parts if part.content_type == "text/calendar"]
        others = [part for part in parts if part.content_type != "text/calendar"]
        plain = next((part for part in others if part.content_type == "text/plain"), None)
        rich = next((part for part in reversed(others) if self._find_page(part)), None) or (
            others[-1] if others else None
        )
        chosen = plain if plain is not None and self._says_the_same(plain, rich) else rich
        if chosen is not None:
            self._read_body(chosen)
        elif not parts:
            self._read_parts(whole)
        for part in others:
            if part is not chosen and part.content_type.startswith("multipart/"):
                self._name_attachments(part)
        for part in calendars[:1]:
            self._read_body(part)

    def _says_the_same(self, plain: MailPart, rich: MailPart | None) -> bool:
        words = _words(read_text(self._raw, plain))
        page = None if rich is None or rich is plain else self._find_page(rich)
        if page is None:
            return bool(words) or rich is plain
        needed = _words(read_text(self._raw, page), is_page=True)
        return bool(words) and len(needed & words) >= SAME_SHARE * len(needed)

    def _find_page(self, part: MailPart) -> MailPart | None:
        """Return the part itself or the first part in it that is HTML, None without one."""
        if part.content_type == "text/html":
            return part
        if not part.content_type.startswith("multipart/"):
            return None
        inner = islice(inner_parts(self._raw, part), MAX_ALTERNATIVES)
        return next(filter(None, map(self._find_page, inner)), None)

    def _name_attachments(self, part: MailPart) -> None:
        """Name the attachments in an alternative that isn't read."""
        for inner in islice(inner_parts(self._raw, part), MAX_PARTS):
            if inner.content_type.startswith("multipart/"):
                self._name_attachments(inner)
            elif inner.is_attachment or not inner.content_type.startswith("text/"):
                self._add_attachment(inner)

    def _add_attachment(self, part: MailPart) -> None:
        """Note a text to be read as a section; of other attachments the name is written."""
        if _is_readable(part):
            self._later.append(part)
        else:
            self._names.append(_attachment_line(part))

    def _closed_format(self, part: MailPart) -> ClosedFormat | None:
        """Return the closed format of a part that may hold the mail's text, None for any other."""
        name = (part.file_name or "").casefold()
        if part.content_type in CLOSED_TYPES:
            return format_by_name(CLOSED_TYPES[part.content_type])
        if not name.endswith(CLOSED_NAMES):
            return None
        start = replace(part, body_end=min(part.body_end, part.body_start + 2))
        return format_by_name(name) or closed_format(b"".join(read_bytes(self._raw, start)), name)

    def _name_closed(self, part: MailPart, closed: ClosedFormat) -> None:
        line, origin = _attachment_line(part)
        is_signed = part.parameter("smime-type") in ("signed-data", "certs-only")
        self.is_locked |= closed.name in ("p7m", "pgp") and not is_signed
        self._names.append((f"{line}: not read; {closed.remedy}", origin))
        self.omitted("closed_parts", where=f"{part.file_name or closed.what}: {closed.remedy}")

    def _read_section(self, part: MailPart) -> None:
        if not part.is_mail:
            self._read_attached_text(part)
        elif part.transfer_encoding in ("base64", "quoted-printable"):
            self._read_encoded_mail(part)
        else:
            for mail in inner_parts(self._raw, part):
                self._read_attached_mail(part, mail)

    def _read_attached_mail(self, part: MailPart, mail: MailPart) -> None:
        subject = mail.header("subject") or part.file_name or "Forwarded message"
        origin = mail.header_spans.get("subject", LineSpan(mail.start, mail.start))
        self._write_heading(subject, origin)
        self.read_mail(mail)

    def _read_encoded_mail(self, part: MailPart) -> None:
        """Read an attached mail that is encoded as a whole: its lines come from all of the part's."""
        content = b"".join(read_bytes(self._raw, part))
        inner = MailReader(mail_lines(content), self._file, level=self._level)
        inner._parts_left = self._parts_left
        mail = read_part(inner._raw, 1, len(inner._raw) + 1, part.depth + 1)
        inner._read_attached_mail(part, mail)
        self._parts_left = inner._parts_left
        self.omissions.add(inner.omissions.listed(), part.file_name or "")
        for block in inner.blocks:
            placed = [(line, part.body_span) for line in inner.lines[block.span.start - 1 : block.span.end]]
            self._write(block.kind, placed, text=block.text, level=block.level)
        self.has_text |= inner.has_text

    def _read_attached_text(self, part: MailPart) -> None:
        name = part.file_name or "Attachment"
        self._write_heading(name, _attachment_line(part)[1])
        named = type_by_name(name)
        kind = part.content_type
        language = named.language if named else None
        placed = read_text(self._raw, part)
        if kind == "text/html" or (named and named.mime == "text/html"):
            self._write_html(placed)
        elif language == "csv" or kind in ("text/csv", "application/csv", "text/tab-separated-values"):
            self._note_text(placed)
            self._write("table", [(text, span) for text, span in placed if text.strip()])
        elif language in CODE_BLOCKS or (named and named.media == "code") or kind == "application/json":
            self._note_text(placed)
            self._write("code", placed)
        else:
            self._write_text(placed)

    def _write_calendar(self, placed: Sequence[PlacedLine]) -> None:
        written = _words([(line, span) for line, span in zip(self.lines, self.origins, strict=True)][-2_000:])
        events = read_events(placed)
        for event in islice(events, MAX_EVENTS):
            key = "\n".join(text for text, _ in event.facts)
            if key in self._events:  # invitations have their event a second time, as an attachment
                continue
            self._events.add(key)
            self._note_text(event.facts)
            self._write("list", event.facts)
            words = _words(event.description)
            if len(words & written) < len(words):  # most invitations have the same text as a part of its own
                self._write_text(event.description)
        self.omitted("beyond_limit", sum(1 for _ in events), "events")

    def _write_html(self, placed: Sequence[PlacedLine]) -> Outline:
        # the mark of UTF-8 overrules the charset that the page states, in which it was encoded
        page = parse_html("\n".join(text for text, _ in placed).encode("utf-8-sig"), self._file)
        self.omissions.add(page.omissions)
        # a page of nothing but markup has no lines, and so no origins
        for block in page.blocks:
            inner = [
                (page.lines[number - 1], _file_span(placed, page.origins, number))
                for number in range(block.span.start, block.span.end + 1)
            ]
            self._note_text(inner)
            level = min(6, block.level + self._level - 1) if block.level else 0
            self._write(block.kind, inner, text=block.text, level=level, language=block.language)
        return page

    def _write_text(self, placed: Sequence[PlacedLine]) -> None:
        if placed and PAGE_START.match(placed[0][0]):
            self._write_html(placed)
            return
        placed, closed = without_armour(placed)
        for what, span in closed:
            self.is_locked |= what.startswith("Encrypted")
            self._names.append((f"{what}: not read", span))
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

    def _write_heading(self, text: str, origin: LineSpan, *, level: int | None = None) -> None:
        self._write("heading", [(text, origin)], text=text, level=self._level if level is None else level)

    def _write(self, kind: BlockKind, placed: Sequence[PlacedLine], **fields: Any) -> None:
        if not placed:
            return
        if self.lines:
            self.lines.append("")
            self.origins.append(placed[0][1])
        start = len(self.lines) + 1
        self.lines += [text for text, _ in placed]
        self.origins += [origin for _, origin in placed]
        self.blocks.append(Block(kind=kind, span=LineSpan(start, len(self.lines)), **fields))


def _shown_headers(mail: MailPart) -> Iterator[tuple[str, str]]:
    for name in SHOWN_HEADERS:
        if text := mail.header(name):
            yield name, text


def _is_readable(part: MailPart) -> bool:
    """Return whether an attachment is text, by its type or its name."""
    if part.body_end - part.body_start > MAX_ATTACHED_LINES:
        return False
    kind = part.content_type
    if kind.startswith("text/") or kind in TEXT_TYPES:
        return kind != "text/rtf"
    if not kind.startswith(("application/octet-stream", "application/x-")):
        return False
    named = type_by_name(part.file_name or "")
    return named is not None and named.media in ("text", "code", "transcript")


def _attachment_line(part: MailPart) -> PlacedLine:
    stated = part.header_spans.get("content-disposition") or part.header_spans.get("content-type")
    name = part.file_name or "without a name"
    return f"Attachment: {name} ({part.content_type})", stated or LineSpan(part.start, part.start)


def _words(placed: Sequence[PlacedLine], *, is_page: bool = False) -> set[str]:
    """Return the words of a text, or those of a page that are no markup."""
    text = "\n".join(line for line, _ in placed)
    if is_page:
        for name in ("head", "style", "script"):
            text = _without_element(text, name)
        text = unescape(TAG.sub(" ", text))
    return set(WORD.findall(text.casefold()))


def _without_element(page: str, name: str) -> str:
    first, *others = re.split(rf"<{name}\b", page, flags=re.IGNORECASE)
    ends = (re.split(rf"</{name}\s*>", other, maxsplit=1, flags=re.IGNORECASE) for other in others)
    return " ".join((first, *(parts[1] for parts in ends if len(parts) > 1)))


def _file_span(placed: Sequence[PlacedLine], origins: Any, number: int) -> LineSpan:
    """Return the lines of the file that line `number` of an HTML part was read from."""
    inner = origins[number - 1]
    last = min(len(placed), inner.end)
    return LineSpan.around([origin for _, origin in placed[min(last, inner.start) - 1 : last]])
