"""Detection of a file's type, by content first and by name where the content leaves it open."""

import codecs
import re

import puremagic

from ingest.parsers.closed_formats import OLE_START, format_by_name, refusal_by_content
from ingest.parsers.errors import ParseRefused
from ingest.parsers.file_types import (
    BINARY,
    FLAT_OFFICE,
    OUTLOOK,
    binary_type,
    code_type,
    extension_of,
    office_type,
    type_as,
    type_by_name,
)
from ingest.parsers.office.epub import is_epub
from ingest.parsers.office.package import ZIP_START, kind_of
from ingest.parsers.text_kinds import text_kind
from ingest.parsers.types import FileType
from search.documents.charset import MARKS, wide_charset

HEAD_BYTES = 4096
#: beginning of a file that stands for one in Git LFS, and a size above that of any
LFS_POINTER = b"version https://git-lfs.github.com/spec/"
LFS_BYTES = 1024
#: mime type of bytes of unknown type
OCTETS = "application/octet-stream"
#: bytes that text files do not hold (tab, line ends, form feed and escape aside)
CONTROL = bytes({*range(0x20)} - {0x09, 0x0A, 0x0C, 0x0D, 0x1B} | {0x7F})
#: a PDF may begin with other bytes, like the header of a message that it came in
SIGNATURES = {
    "application/pdf": re.compile(rb"(?s:.{0,1019}?)%PDF-"),
    "application/rtf": re.compile(rb"(?:\xef\xbb\xbf)?\s*\{\\rtf"),
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF(?s:.{4})WEBP"),
    "image/tiff": re.compile(rb"II\*\0|MM\0\*"),
}
#: unreadable formats by description; puremagic takes any zip for a Word document, and does not know ELF
UNREAD = {
    "an archive: unpack it, or upload it by itself": re.compile(
        rb"PK\x03\x04(?!(?s:.{26})mimetype)|PK\x05\x06|\x1f\x8b|BZh[1-9]|\xfd7zXZ\0|7z\xbc\xaf|Rar!\x1a|(?s:.{257})ustar"
    ),
    "a program": re.compile(rb"\x7fELF|MZ|\xca\xfe\xba\xbe|[\xce\xcf]\xfa\xed\xfe"),
}
#: mime types of readable text among those of the magic numbers
READABLE = ("text/", "application/json", "application/xml", "message/")
#: lines that a header of C++ has and one of C cannot have
CPP_LINE = re.compile(
    rb"^[ \t]*(?:(?:public|private|protected)[ \t]*:|template[ \t]*<|using[ \t]+(?:namespace[ \t]+)?\w+"
    rb"|(?:inline[ \t]+)?namespace\b[\w: \t]*(?:\{|\r?$)"
    rb"|class[ \t]+(?:\w+[ \t]+)?\w+[ \t]*(?:[:{;]|final\b|\r?$))",
    re.MULTILINE,
)


def identify(content: bytes, path: str) -> FileType:
    """Return the type of a file from its bytes and its path.

    Raises:
        ParseRefused: nothing here reads such a file (`no_parser`).
    """
    if content.startswith(LFS_POINTER) and len(content) < LFS_BYTES:
        raise ParseRefused("lfs_pointer", "it is a pointer of Git LFS, whose file isn't here: git lfs pull")
    extension = extension_of(path)
    named = type_by_name(path)
    if (refusal := refusal_by_content(content, path)) is not None:
        raise refusal
    if (office := _office_type(content, path, named)) is not None:
        return office
    head = content[:HEAD_BYTES]
    if named is not None and (named.mime in BINARY or named.media == "office"):
        named = None  # the name says that it is no text, so only the content decides
    if _looks_binary(head, is_named=named is not None) and (
        mime := _binary_mime(head, is_named=named is not None)
    ):
        read_here = binary_type(path, mime)
        if read_here is None:
            raise _no_parser(mime, head, path)
        return read_here
    if extension == "h" and CPP_LINE.search(content):
        return code_type(path, "cpp")
    return text_kind(named, content, head, path)


def _office_type(content: bytes, path: str, named: FileType | None) -> FileType | None:
    """Return the type of an office file, also of a damaged one known by its name alone; None for any
    other.
    """
    if content.startswith(OLE_START):
        return binary_type(path, OUTLOOK)
    if (kind := kind_of(content)) is not None:
        return office_type(path, kind)
    if is_epub(content):
        return type_as(path, "epub")
    if named is None or named.media != "office":
        return None
    if not content:
        raise ParseRefused("damaged", "the file is empty: it has 0 bytes")
    is_office = content.startswith(ZIP_START) or FLAT_OFFICE in content[:HEAD_BYTES]
    return named if is_office else None


def _no_parser(mime: str, head: bytes, path: str) -> ParseRefused:
    if (closed := format_by_name(path)) is not None:
        return closed.refusal()
    for what, signature in UNREAD.items():
        if signature.match(head):
            return ParseRefused("no_parser", f"it is {what}")
    if mime == OCTETS:
        return ParseRefused("no_parser", f"it contains binary data of an unknown kind ({mime})")
    return ParseRefused("no_parser", f"no parser for {mime}")


def _looks_binary(head: bytes, *, is_named: bool) -> bool:
    signed = _signature_mime(head) or ""
    is_pdf = signed == "application/pdf" and b" obj" in head and not is_named
    begun = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if is_pdf or begun.startswith(b"%PDF-") or signed.startswith(("application/rtf", "image/")):
        return True
    if head.startswith((*MARKS, codecs.BOM_UTF8)) or wide_charset(head):
        return False
    return head.translate(None, CONTROL) != head


def _binary_mime(head: bytes, *, is_named: bool) -> str | None:
    """Return the mime type of binary content, None when it may be text with some stray control bytes."""
    mime = _signature_mime(head) or _magic_mime(head)
    if mime is not None:
        return mime
    control_share = 1 - len(head.translate(None, CONTROL)) / len(head)
    if not is_named and b"\x00" in head:
        return OCTETS
    return OCTETS if control_share > 0.1 and len(head) > 64 else None


def _signature_mime(head: bytes) -> str | None:
    """Return the mime type of a readable format; puremagic is unsure of JPEG and too strict with PDF."""
    for mime, signature in SIGNATURES.items():
        if signature.match(head):
            return mime
    return None


def _magic_mime(head: bytes) -> str | None:
    try:
        matches = puremagic.magic_string(head)
    except (puremagic.PureError, ValueError):
        return None
    for match in matches:
        if match.confidence >= 0.4:
            mime = match.mime_type or OCTETS
            return None if mime.startswith(READABLE) else mime
    return None
