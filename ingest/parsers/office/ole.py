"""Kinds of OLE compound files: Outlook messages, which are read, old Office files and locked files.

They share one container format and are distinguished by its directory.
"""

from typing import Final

from ingest.parsers.errors import ParseRefused

OLE_START: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
#: a directory entry: 64 bytes of name in UTF-16, 2 bytes with the length of the name and its terminator
ENTRY_BYTES: Final = 128
NAME_BYTES: Final = 64
LOCKED: Final = ("encrypted", "the file is locked by a password: remove it and save the file again")
#: stream of an Outlook message, which may contain Word's, too
MESSAGE: Final = "__properties_version1.0"
#: streams in order of precedence: a locked file has no others
REASONS: Final = {
    "EncryptedPackage": LOCKED,
    "EncryptedSummary": LOCKED,
    "WordDocument": ("old_format", "Word 97-2003 documents (.doc) are not read: save the file as .docx"),
    "PowerPoint Document": (
        "old_format",
        "PowerPoint 97-2003 presentations (.ppt) are not read: save the file as .pptx",
    ),
    "Workbook": ("old_format", "Excel 97-2003 workbooks (.xls) are not read: save the file as .xlsx"),
    "Book": ("old_format", "Excel 5.0/95 workbooks (.xls) are not read: save the file as .xlsx"),
}
UNKNOWN: Final = ("no_parser", "no parser for this kind of compound file (application/x-ole-storage)")


def is_outlook_message(content: bytes) -> bool:
    """Return whether a compound file is an Outlook message."""
    return _has_stream(content, MESSAGE)


def ole_refusal(content: bytes) -> ParseRefused:
    """Return the refusal of a compound file: locked, an old format, or an unknown kind."""
    reasons = (reason for stream, reason in REASONS.items() if _has_stream(content, stream))
    return ParseRefused(*next(reasons, UNKNOWN))


def _has_stream(content: bytes, name: str) -> bool:
    """Return whether a directory entry has that name; entries begin at multiples of their size."""
    encoded = name.encode("utf-16-le")
    size = len(encoded) + 2
    wanted = encoded.ljust(NAME_BYTES, b"\0") + size.to_bytes(2, "little")
    position = content.find(wanted)
    while position >= 0:
        if position % ENTRY_BYTES == 0:
            return True
        position = content.find(wanted, position + 1)
    return False
