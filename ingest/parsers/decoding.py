"""Bytes of a file as text, and text as the lines that an editor numbers."""

import re

from search.documents.charset import REPLACEMENT, charset_of

UNSAFE = re.compile("[\x00\ud800-\udfff]")


def decode(content: bytes) -> str:
    """Return the text of `content`: UTF-8, UTF-16 and UTF-32 by their BOM, else what `charset_of` finds.

    NUL and lone surrogates become U+FFFD, one for one. Undecodable bytes never raise.
    """
    return UNSAFE.sub(REPLACEMENT, content.decode(charset_of(content), errors="replace"))


def split_lines(text: str) -> list[str]:
    """Lines without their ends; CRLF, LF and a lone CR each end a line. No line after the last end."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines
