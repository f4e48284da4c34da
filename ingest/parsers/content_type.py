"""What a file is: by its content first, by its name where the content leaves it open."""

import codecs
import re

import puremagic

from ingest.parsers.decoding import UTF16_BOMS
from ingest.parsers.errors import ParseRefused
from ingest.parsers.file_types import UNREAD, code_type, extension_of, html_type, text_type, type_by_name
from ingest.parsers.types import FileType

HEAD_BYTES = 4096
#: bytes that text files do not hold (tab, line ends, form feed and escape aside)
CONTROL = bytes({*range(0x20)} - {0x09, 0x0A, 0x0C, 0x0D, 0x1B} | {0x7F})
#: formats that begin like text but hold none worth reading as such
TEXTUAL_SIGNATURES = (b"%PDF-", b"{\\rtf", b"%!PS")
#: types that the magic numbers give for things people read
READABLE = ("text/", "application/json", "application/xml", "message/")
HTML_START = re.compile(
    rb"\s*(?:<!--(?:(?!-->).)*-->\s*)?<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)
SHEBANG = re.compile(rb"#!\s*\S*?(?:env\s+(?:-\S+\s+)*)?([a-z]+)[0-9.]*\s")
INTERPRETERS = {
    "bash": "bash",
    "sh": "bash",
    "zsh": "bash",
    "python": "python",
    "node": "javascript",
    "ruby": "ruby",
    "perl": "perl",
    "php": "php",
}


def identify(content: bytes, path: str) -> FileType:
    """The type of a file from its bytes and its path.

    Raises:
        ParseRefused: nothing here reads such a file (`no_parser`).
    """
    extension = extension_of(path)
    if extension in UNREAD:
        raise _no_parser(UNREAD[extension])
    named = type_by_name(path)
    head = content[:HEAD_BYTES]
    if _looks_binary(head) and (mime := _binary_mime(head, is_named=named is not None)):
        raise _no_parser(mime)
    return named or _sniffed(head, path)


def _no_parser(mime: str) -> ParseRefused:
    return ParseRefused("no_parser", f"no parser for {mime}")


def _looks_binary(head: bytes) -> bool:
    if head.startswith((*UTF16_BOMS, codecs.BOM_UTF8)):
        return False
    return head.startswith(TEXTUAL_SIGNATURES) or head.translate(None, CONTROL) != head


def _binary_mime(head: bytes, *, is_named: bool) -> str | None:
    """Mime of binary content, or None when it may still be text with some stray control bytes."""
    mime = _magic_mime(head)
    if mime is not None:
        return mime
    control_share = 1 - len(head.translate(None, CONTROL)) / len(head)
    if not is_named and b"\x00" in head:
        return "application/octet-stream"
    return "application/octet-stream" if control_share > 0.1 and len(head) > 64 else None


def _magic_mime(head: bytes) -> str | None:
    try:
        matches = puremagic.magic_string(head)
    except (puremagic.PureError, ValueError):
        return None
    for match in matches:
        if match.confidence >= 0.4:
            mime = match.mime_type or "application/octet-stream"
            return None if mime.startswith(READABLE) else mime
    return None


def _sniffed(head: bytes, path: str) -> FileType:
    """Type of text whose name says nothing."""
    if HTML_START.match(head):
        return html_type(path)
    shebang = SHEBANG.match(head)
    if shebang and (language := INTERPRETERS.get(shebang[1].decode("ascii"))):
        return code_type(path, language)
    return text_type(path)
