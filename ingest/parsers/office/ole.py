"""OLE compound files: Outlook messages, which are read, old Office files and locked files.

They share one container format and are distinguished by its directory.
"""

from typing import Final

OLE_START: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
#: a directory entry: 64 bytes of name in UTF-16, 2 bytes with the length of the name and its terminator
ENTRY_BYTES: Final = 128
NAME_BYTES: Final = 64
#: stream of an Outlook message, which may contain Word's, too
MESSAGE: Final = "__properties_version1.0"
#: streams of a locked file, which has no others
LOCKED: Final = ("EncryptedPackage", "EncryptedSummary")


def has_stream(content: bytes, *names: str) -> bool:
    """Return whether a directory entry has one of the names; entries begin at multiples of their size."""
    return any(_has_entry(content, name) for name in names)


def _has_entry(content: bytes, name: str) -> bool:
    encoded = name.encode("utf-16-le")
    size = len(encoded) + 2
    wanted = encoded.ljust(NAME_BYTES, b"\0") + size.to_bytes(2, "little")
    position = content.find(wanted)
    while position >= 0:
        if position % ENTRY_BYTES == 0:
            return True
        position = content.find(wanted, position + 1)
    return False
