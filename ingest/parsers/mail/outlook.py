"""Parser of Outlook messages (.msg, [MS-OXMSG]): they are written as a mail, which is read like any other."""

import re
from base64 import encodebytes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.parser import HeaderParser
from email.utils import format_datetime
from hashlib import blake2b
from io import BytesIO
from struct import Struct
from typing import Any, Final

from ingest.parsers.decode import decode
from ingest.parsers.errors import ParseRefused
from ingest.parsers.mail.parse import parse_email
from ingest.parsers.office.rtf import rtf_text
from ingest.parsers.outline_writer import one_line
from ingest.parsers.types import FileType, Outline
from search.documents.charset import charset_for_label

#: messages in messages, and attachments of a message
MAX_DEPTH, MAX_ATTACHMENTS = 8, 1_000
#: bytes of a body, and of an attached text that is read
MAX_BODY_BYTES, MAX_TEXT_BYTES = 16 * 1024**2, 2 * 1024**2
#: properties by their ids in hexadecimal, [MS-OXPROPS]
SUBJECT, BODY, HTML, RTF, HEADERS = "0037", "1000", "1013", "1009", "007D"
SENDER_NAMES, SENDER_ADDRESSES = ("0C1A", "0042"), ("5D01", "0C1F", "5D02", "0065")
SHOWN_TO, SHOWN_CC = "0E04", "0E03"
RECIPIENT_NAME, RECIPIENT_ADDRESSES, RECIPIENT_KIND = "3001", ("39FE", "3003"), 0x0C15
SENT, DELIVERED, CODE_PAGES = 0x0039, 0x0E06, (0x3FFD, 0x3FDE)
FILE_NAMES, FILE_TYPE, FILE_CONTENT, FILE_MESSAGE = ("3707", "3704", "3001"), "370E", "3701", "3701000D"
#: kinds of recipients, and the headers that have them
KINDS: Final = {1: "To", 2: "Cc"}
#: fixed properties: type, id, flags, value
PROPERTY: Final = Struct("<HHIQ")
PROPERTIES: Final = "__properties_version1.0"
#: bytes before the first of them: of a message, a message in a message, a recipient or an attachment
HEADER_SIZES: Final = (32, 24, 8)
#: olefile's type of a stream
STREAM: Final = 2
FILETIME_START: Final = datetime(1601, 1, 1, tzinfo=UTC)
#: characters that divide addresses
SPECIAL: Final = re.compile(r'[",;:<>()@\\]')
TEXT_NAME: Final = re.compile(r".\.(?:txt|text|csv|tsv|json|md|log|ya?ml|xml|html?|ics)$", re.IGNORECASE)


def parse_outlook(content: bytes, file: FileType) -> Outline:
    """Return the text of an Outlook message as that of a mail. Lines are those of the outline.

    Raises:
        ParseRefused: the file is damaged (`damaged`), or its message is encrypted (`encrypted`).
    """
    from olefile import OleFileIO

    try:
        with OleFileIO(BytesIO(content)) as ole:
            mail = _Storage(ole, ()).mail()
    except ParseRefused:
        raise
    except (OSError, ValueError, IndexError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ParseRefused("damaged", "the Outlook message is damaged: it can't be opened") from error
    return replace(parse_email(mail, file), origins=None)


@dataclass(frozen=True, slots=True)
class _Storage:
    """A message, a recipient or an attachment: a directory of the compound file."""

    ole: Any
    path: tuple[str, ...]

    def mail(self) -> bytes:
        """Return the message as a mail in UTF-8, attachments with the content of texts alone."""
        bodies = [part for part in (self._plain(), self._html()) if part] or [
            part for part in (self._rtf(),) if part
        ]
        parts = [_multipart("alternative", bodies) if len(bodies) > 1 else part for part in bodies[:1]]
        parts += self._attachments()
        headers = "".join(f"{name}: {value}\r\n" for name, value in self._headers() if value)
        return headers.encode() + _multipart("mixed", parts)

    def _headers(self) -> Iterator[tuple[str, str]]:
        transport = HeaderParser().parsestr(self._text(HEADERS)[:100_000])
        sender = _person(self._first(SENDER_NAMES), self._first(SENDER_ADDRESSES))
        recipients: dict[str, list[str]] = {name: [] for name in KINDS.values()}
        for storage in self._storages("__recip_version1.0_"):
            kind = KINDS.get(storage._numbers().get(RECIPIENT_KIND, 1) & 0xF)
            person = _person(storage._text(RECIPIENT_NAME), storage._first(RECIPIENT_ADDRESSES))
            if kind and person:
                recipients[kind].append(person)
        shown = {"To": SHOWN_TO, "Cc": SHOWN_CC}
        yield "Subject", one_line(self._text(SUBJECT))
        yield "From", sender or one_line(str(transport.get("from", "")))
        for name, key in shown.items():
            yield name, ", ".join(recipients[name]) or one_line(self._text(key))
        yield "Date", one_line(str(transport.get("date", ""))) or self._date()
        yield "MIME-Version", "1.0"

    def _date(self) -> str:
        numbers = self._numbers()
        ticks = numbers.get(SENT) or numbers.get(DELIVERED)
        try:
            return format_datetime(FILETIME_START + timedelta(microseconds=ticks // 10)) if ticks else ""
        except OverflowError:
            return ""

    def _plain(self) -> bytes | None:
        text = self._text(BODY)
        return _text_part("text/plain", text) if text.strip() else None

    def _html(self) -> bytes | None:
        stream = self._stream(f"{HTML}0102")
        text = decode(stream, self._charset(CODE_PAGES[::-1])) if stream else self._text(HTML)
        return _text_part("text/html", text) if text.strip() else None

    def _rtf(self) -> bytes | None:
        """Return the text of a body that is RTF alone."""
        stream = self._stream(f"{RTF}0102")
        if not stream:
            return None
        from compressed_rtf import decompress

        try:
            text = rtf_text(decompress(stream[:MAX_BODY_BYTES]))
        except Exception:  # noqa: BLE001  the library raises no other class; headers and attachments are read
            return None
        return _text_part("text/plain", text) if text.strip() else None

    def _attachments(self) -> Iterator[bytes]:
        for storage in self._storages("__attach_version1.0_"):
            name = one_line(storage._first(FILE_NAMES)) or "attachment"
            kind = one_line(storage._text(FILE_TYPE)) or "application/octet-stream"
            if FILE_MESSAGE in storage._names("__substg1.0_"):
                inner = _Storage(self.ole, (*storage.path, f"__substg1.0_{FILE_MESSAGE}"))
                if len(inner.path) <= 2 * MAX_DEPTH:
                    yield b"Content-Type: message/rfc822\r\n\r\n" + inner.mail()
                continue
            head = f"Content-Type: {kind}\r\nContent-Disposition: attachment; filename={_quoted(name)}\r\n"
            content = storage._stream(f"{FILE_CONTENT}0102") if TEXT_NAME.search(name) else b""
            if 0 < len(content) <= MAX_TEXT_BYTES:
                yield head.encode() + b"Content-Transfer-Encoding: base64\r\n\r\n" + encodebytes(content)
            else:
                yield head.encode() + b"\r\n"

    def _storages(self, prefix: str) -> list["_Storage"]:
        names = sorted(name for name in self._children() if name.startswith(prefix))
        return [_Storage(self.ole, (*self.path, name)) for name in names[:MAX_ATTACHMENTS]]

    def _names(self, prefix: str) -> set[str]:
        return {name.removeprefix(prefix) for name in self._children() if name.startswith(prefix)}

    def _children(self) -> Sequence[str]:
        node = self.ole.root
        for name in self.path:
            node = node.kids_dict[name.lower()]
        return [kid.name for kid in node.kids]

    def _first(self, keys: Sequence[str]) -> str:
        texts = (self._text(key).strip() for key in keys)
        return next((text for text in texts if text), "")

    def _text(self, key: str) -> str:
        """Return a text property, in UTF-16 or in the message's code page."""
        if stream := self._stream(f"{key}001F"):
            return stream.decode("utf-16-le", errors="replace").rstrip("\0")
        if stream := self._stream(f"{key}001E"):
            return decode(stream, self._charset(CODE_PAGES)).rstrip("\0")
        return ""

    def _stream(self, name: str) -> bytes:
        path = [*self.path, f"__substg1.0_{name}"]
        if self.ole.get_type(path) != STREAM or self.ole.get_size(path) > MAX_BODY_BYTES:
            return b""
        content: bytes = self.ole.openstream(path).read()
        return content

    def _charset(self, keys: Sequence[int]) -> str | None:
        numbers = _Storage(self.ole, ())._numbers()
        pages = (numbers[key] for key in keys if numbers.get(key))
        return next((charset for page in pages if (charset := _code_page(page))), None)

    def _numbers(self) -> dict[int, int]:
        """Return the fixed properties by id: numbers, times in steps of 100 ns since 1601."""
        path = [*self.path, PROPERTIES]
        if self.ole.get_type(path) != STREAM:
            return {}
        content = self.ole.openstream(path).read(1024**2)
        is_message = not self.path or self.path[-1].endswith(FILE_MESSAGE)
        start = HEADER_SIZES[bool(self.path) if is_message else 2]
        rows = content[start : len(content) - (len(content) - start) % PROPERTY.size]
        return {
            key: value & 0xFFFFFFFF if kind == 3 else value
            for kind, key, _, value in PROPERTY.iter_unpack(rows)
        }


def _code_page(number: int) -> str | None:
    return (
        "utf-8"
        if number == 65001
        else charset_for_label(f"cp{number}") or charset_for_label(f"windows-{number}")
    )


def _person(name: str, address: str) -> str:
    """Return a sender or a recipient; the address is left out where it is a path in Exchange's directory."""
    name, address = one_line(name), one_line(address)
    if "@" not in address or name == address:
        return name
    if SPECIAL.search(name):
        name = _quoted(name)
    return f"{name} <{address}>" if name else address


def _quoted(text: str) -> str:
    return '"{}"'.format(text.replace("\\", "\\\\").replace('"', '\\"'))


def _text_part(kind: str, text: str) -> bytes:
    return f"Content-Type: {kind}; charset=utf-8\r\n\r\n".encode() + text.encode("utf-8", errors="replace")


def _multipart(kind: str, parts: Sequence[bytes]) -> bytes:
    boundary = "part-" + blake2b(b"".join(parts), digest_size=16).hexdigest()
    head = f'Content-Type: multipart/{kind}; boundary="{boundary}"\r\n\r\n'.encode()
    opening = f"\r\n--{boundary}\r\n".encode()
    return head + b"".join(opening + part for part in parts) + f"\r\n--{boundary}--\r\n".encode()
