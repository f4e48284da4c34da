"""Decoding of a file's bytes to text, and the split of text into lines as an editor numbers them."""

import re

from ingest.parsers.errors import ParseRefused
from search.documents.charset import REPLACEMENT, charset_of, checked_charset, is_readable

UNSAFE = re.compile("[\x00\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def decode(content: bytes, stated: str | None = None) -> str:
    """Return `content` as text in the codec that is stated beside it, unless it is evidently in another.

    NUL and lone surrogates become U+FFFD, one for one. Undecodable bytes never raise.
    """
    charset = charset_of(content) if stated is None else checked_charset(content, stated)
    return UNSAFE.sub(REPLACEMENT, content.decode(charset, errors="replace"))


def join_surrogates(text: str) -> str:
    """Return text with the two halves of a character joined; lone ones become U+FFFD."""
    is_halved = _SURROGATE.search(text) is not None
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if is_halved else text


def check_charset(content: bytes) -> None:
    """Check that text is not indexed as noise.

    Raises:
        ParseRefused: it states no charset, and in none does it look like a language (`unknown_charset`).
    """
    if not content.isascii() and not is_readable(content):
        raise ParseRefused(
            "unknown_charset",
            "the encoding of its text can't be told: save it as UTF-8 in the program that wrote it",
        )


def split_lines(text: str) -> list[str]:
    """Return the lines without their ends; CRLF, LF and a lone CR each end a line.

    No empty line follows the last line end.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines
