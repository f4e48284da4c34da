"""Document paths: POSIX, NFC, relative, without invisible characters."""

import unicodedata
from typing import Final

from search.errors import InvalidPath

#: Fits into an index entry, and into a citation that a person can paste.
MAX_PATH_BYTES = 1_000
# Control characters, invisible formatting and bidirectional ones, separators of lines and paragraphs.
_UNSEEN: Final = frozenset({"Cc", "Cf", "Zl", "Zp"})
# Joiners are part of Persian and Indic spelling and of composed emoji (UAX 31, 2.3).
_JOINERS: Final = frozenset("\u200c\u200d")


def has_invisible_character(name: str) -> bool:
    """Return whether a name has characters that make it look like another one, or span several lines."""
    if name.isprintable():
        return False
    return any(char not in _JOINERS and unicodedata.category(char) in _UNSEEN for char in name)


def normalise_path(path: str) -> str:
    """Return `path` in the normal form of document paths. Raises InvalidPath, naming the fault."""
    normal = unicodedata.normalize("NFC", path.strip())
    shown = repr(path[:80])
    if not normal or normal.startswith("/"):
        raise InvalidPath(f"The path {shown} must be relative and not empty, like guides/install.md.")
    if has_invisible_character(normal):
        raise InvalidPath(f"The path {shown} holds a control or invisible character. Rename it.")
    if "\\" in normal or any(part in {"", ".", ".."} for part in normal.split("/")):
        raise InvalidPath(f"The path {shown} must use single '/' between names, without '.', '..' or '\\'.")
    try:
        size_bytes = len(normal.encode())
    except UnicodeEncodeError as error:
        raise InvalidPath(f"The path {shown} is not valid Unicode.") from error
    if size_bytes > MAX_PATH_BYTES:
        raise InvalidPath(f"The path {shown}… has {size_bytes} bytes; at most {MAX_PATH_BYTES} are kept.")
    return normal
