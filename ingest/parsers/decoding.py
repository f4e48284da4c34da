"""Bytes of a file as text, and text as the lines that an editor numbers."""

import codecs
import re

REPLACEMENT = "\ufffd"
SAMPLE_BYTES = 64 * 1024
UTF16_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
UNSAFE = re.compile("[\x00\ud800-\udfff]")
MULTIBYTE = re.compile("[\x80-\ufffc\ufffe-\U0010ffff]")


def decode(content: bytes) -> str:
    """The text of `content`: UTF-8 (with or without BOM), UTF-16 with BOM, else the likeliest charset.

    NUL and lone surrogates become U+FFFD, one for one. Undecodable bytes never raise.
    """
    return UNSAFE.sub(REPLACEMENT, _decode_any(content))


def split_lines(text: str) -> list[str]:
    """Lines without their ends; CRLF, LF and a lone CR each end a line. No line after the last end."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def _decode_any(content: bytes) -> str:
    if content.startswith(UTF16_BOMS) and not content.startswith(codecs.BOM_UTF32_LE):
        return content.decode("utf-16", errors="replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("utf-8-sig", errors="replace")
    if _is_damaged_utf8(text):
        return text
    return content.decode(_likeliest_charset(content), errors="replace")


def _is_damaged_utf8(text: str) -> bool:
    """True when valid multi-byte characters far outnumber the broken ones: a few bad bytes in UTF-8."""
    sample = text[:SAMPLE_BYTES]
    broken = sample.count(REPLACEMENT)
    return len(MULTIBYTE.findall(sample)) > 4 * broken


def _likeliest_charset(content: bytes) -> str:
    from charset_normalizer import from_bytes  # 30 ms to import, and few files need it

    best = from_bytes(content[:SAMPLE_BYTES]).best()
    if best is None or best.encoding in {"utf_8", "ascii"}:
        return "cp1252"
    return best.encoding
