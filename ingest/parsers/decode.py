"""Decoding of a file's bytes to text, and the split of text into lines as an editor numbers them."""

import re

from search.documents.charset import REPLACEMENT, charset_of

UNSAFE = re.compile("[\x00\ud800-\udfff]")


def decode(content: bytes) -> str:
    """Return `content` as text: UTF-8, UTF-16 and UTF-32 by their BOM, else the charset of `charset_of`.

    NUL and lone surrogates become U+FFFD, one for one. Undecodable bytes never raise.
    """
    return UNSAFE.sub(REPLACEMENT, content.decode(charset_of(content), errors="replace"))


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
