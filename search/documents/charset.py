"""Detection of a file's charset: marks, escapes, what the file states, UTF-8, else the likeliest."""

import codecs
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from search.documents.charset_guess import (
    EAST_ASIAN,
    LIKE_WESTERN,
    REPLACEMENT,
    SAMPLE_BYTES,
    guess_charset,
    reads_as_language,
)
from search.documents.charset_labels import charset_for_label

#: bytes at the start of a file that are searched; the HTML standard's 1,024 are too few for real pages
HEAD_BYTES: Final = 16 * 1024
LABEL = rb"[\"']?([\w.:+-]{2,40})"
COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
MARKUP_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<[!?a-z]", re.IGNORECASE)
#: declarations in markup, in order of their precedence
XML = re.compile(rb"\s*<\?xml\s[^>]{0,200}?\bencoding\s*=\s*" + LABEL)
META = re.compile(rb"<meta\b[^>]{0,400}?\bcharset\s*=\s*" + LABEL, re.IGNORECASE)
CSS = re.compile(rb"@charset \"" + LABEL)
GETTEXT = re.compile(
    rb"^msgid \"\"\r?\n(?:.*\n){0,60}?\"Content-Type: [\w/]+; charset=" + LABEL, re.MULTILINE
)
TEX = re.compile(rb"\\usepackage\[([\w-]{2,20})\]\{inputenc\}")
#: PEP 263, Emacs and Vim, in the first two lines
CODING = re.compile(
    rb"(?:[^\n]*\n)?(?:[ \t\f]*[#;%/*.-]{1,4}|[^\n]*-\*-)[^\n]*?coding[:=][ \t]*([\w.-]{2,40})", re.IGNORECASE
)
LINE_END_SUFFIX = re.compile(r"-(?:unix|dos|mac)$")
#: names in TeX that are no labels elsewhere
TEX_NAMES: Final = {"ansinew": "cp1252", "applemac": "macintosh", "latin10": "iso-8859-16"}


def declared_charset(content: bytes) -> str | None:
    """Return the codec that the file states, None without a known one.

    A statement was read as ASCII, so charsets that encode ASCII in another way can't be meant.
    """
    for label in _labels(content[:HEAD_BYTES]):
        codec = charset_for_label(label)
        if codec is not None and label.encode().decode(codec, errors="replace") == label:
            return codec
    return None


def _labels(head: bytes) -> Iterator[str]:
    markup = COMMENT.sub(b"", head) if MARKUP_START.match(head) else b""
    for found in (
        *(XML.match(head), META.search(markup), CSS.match(head)),
        *(GETTEXT.search(head), CODING.match(head), TEX.search(head)),
    ):
        if found is not None:
            label = LINE_END_SUFFIX.sub("", found[1].decode("latin-1"))
            yield TEX_NAMES.get(label, label)


__all__ = ["REPLACEMENT", "charset_for_label", "charset_of"]

#: byte order marks at the start of a file, in this order, as one of UTF-32 begins like one of UTF-16
MARKS: Final = MappingProxyType(
    {
        codecs.BOM_UTF32_LE: "utf-32",
        codecs.BOM_UTF32_BE: "utf-32",
        codecs.BOM_UTF16_LE: "utf-16",
        codecs.BOM_UTF16_BE: "utf-16",
    }
)
#: charsets in which ASCII has NUL bytes
WIDE: Final = ("utf-16", "utf-32")
ASCII_TEXT = re.compile(r"[\n\x20-\x7e]")
MULTIBYTE = re.compile("[\x80-\ufffc\ufffe-\U0010ffff]")
#: minimum share of ASCII letters, digits and blanks of text in a Latin script, whatever the rest is
LATIN_SHARE = 0.7
#: minimum share of one script among the remaining characters of other text
SCRIPT_SHARE = 0.7
#: escapes that begin Japanese and Korean text of seven bits, with their codecs
ESCAPES: Final = MappingProxyType(
    {b"\x1b$B": "iso2022_jp_ext", b"\x1b$@": "iso2022_jp_ext", b"\x1b$)C": "iso2022_kr"}
)
#: characters of several bytes that are UTF-8 by no chance
MIN_MULTIBYTE: Final = 3
#: errors in a file's own charset beside the one at its end, per character outside ASCII
MAX_ERROR_SHARE: Final = 0.02
#: those in a charset that a mail states for a part, per character
MAX_BROKEN_SHARE: Final = 0.01


def charset_of(content: bytes) -> str:
    """Return the codec for `content`; some bytes may still be invalid in it."""
    return known_charset(content) or guess_charset(content).charset


def is_readable(content: bytes) -> bool:
    """Return whether the charset of `content` is known, or the guess at it is sure."""
    return known_charset(content) is not None or guess_charset(content).is_sure


def known_charset(content: bytes) -> str | None:
    """Return the codec that the content states or shows, None if it is to be guessed.

    A byte order mark comes first, then escapes, then what the file states if it decodes so, then UTF-8.
    """
    if (charset := marked_charset(content) or wide_charset(content) or _escaped_charset(content)) is not None:
        return charset
    if content.isascii():
        return "utf-8-sig"
    stated = declared_charset(content)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        if stated is not None and stated != "utf-8-sig" and _decodes(content, stated):
            return stated
        text = content.decode("utf-8-sig", errors="replace")
        return "utf-8-sig" if is_damaged_utf8(text, is_stated=stated == "utf-8-sig") else None
    is_other = stated is not None and _is_chance(text, stated) and _decodes(content, stated)
    return stated if is_other else "utf-8-sig"


def _is_chance(text: str, stated: str) -> bool:
    """Return whether text that decodes as UTF-8 may still be in the stated charset."""
    may_look_like_it = stated not in {"utf-8-sig", *LIKE_WESTERN}
    return may_look_like_it and len(MULTIBYTE.findall(text[:SAMPLE_BYTES])) < MIN_MULTIBYTE


def checked_charset(content: bytes, stated: str) -> str:
    """Return the stated codec, unless the content is UTF-8, or reads like a language in another one alone."""
    text = content.decode(stated, errors="replace")
    if text.isascii():
        return stated
    if content.isascii() and stated.startswith(WIDE) and b"\0" not in content:
        return "utf-8"
    as_utf8 = content.decode(errors="ignore")
    if as_utf8.encode() == content:
        is_stated = _is_chance(as_utf8, stated)
    else:
        broken = text.count(REPLACEMENT)
        is_stated = broken <= MAX_BROKEN_SHARE * len(text) and reads_as_language(content, stated)
    return stated if is_stated or not is_readable(content) else charset_of(content)


def _escaped_charset(content: bytes) -> str | None:
    """Return the charset of text of seven bits that escapes switch to another script, else None."""
    if b"\x1b$" not in content or not content.isascii():
        return None
    charset = next((charset for escape, charset in ESCAPES.items() if escape in content), None)
    return charset if charset is not None and _decodes(content, charset) else None


def _decodes(content: bytes, charset: str) -> bool:
    """Return whether next to nothing of the content is invalid in a charset."""
    text = content.decode(charset, errors="replace")
    errors = text.count(REPLACEMENT)
    return errors <= 1 or errors <= MAX_ERROR_SHARE * len(MULTIBYTE.findall(text))


def marked_charset(content: bytes) -> str | None:
    """Return UTF-16 or UTF-32 if the first bytes are its byte order mark, else None."""
    return next((charset for mark, charset in MARKS.items() if content.startswith(mark)), None)


def wide_charset(content: bytes) -> str | None:
    """Return UTF-16 of one byte order, if the first bytes are evidently that without a mark, else None.

    Spaces, digits and Latin letters of such text have a NUL in each pair of bytes, always on the same side.
    """
    head = content[: min(len(content), SAMPLE_BYTES) & ~1]
    nuls = head.count(0)
    if nuls < max(2, len(head) // 200) or (nuls < len(head) // 6 and _is_narrow(head.replace(b"\x00", b""))):
        return None
    read = {charset: head.decode(charset, errors="replace")[:-1] for charset in ("utf-16-le", "utf-16-be")}
    plain = {charset: text for charset, text in read.items() if _is_text_of_a_script(text)}
    return max(plain, key=lambda charset: len(ASCII_TEXT.findall(plain[charset])), default=None)


def _is_narrow(content: bytes) -> bool:
    """Return whether the bytes are UTF-8 without control characters; then NULs among them are errors."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(content)
    except UnicodeDecodeError:
        return False
    return not any(map(_is_odd, text))


def _is_text_of_a_script(text: str) -> bool:
    """Return whether the text is mostly ASCII, or the rest mostly of one script, unlike binary numbers."""
    plain = len(ASCII_TEXT.findall(text))
    if not plain or any(map(_is_odd, text)):
        return False
    if plain >= LATIN_SHARE * len(text):
        return True
    scripts = Counter(_script(character) for character in text if not character.isascii())
    del scripts["LATIN"]
    return max(scripts.values(), default=0) >= SCRIPT_SHARE * (len(text) - plain)


def _script(character: str) -> str:
    word = unicodedata.name(character, "").partition(" ")[0]
    return "CJK" if word in EAST_ASIAN else word


def _is_odd(character: str) -> bool:
    return character == REPLACEMENT or not (character.isprintable() or character.isspace())


def is_damaged_utf8(text: str, *, is_stated: bool) -> bool:
    """Return whether valid multi-byte characters far outnumber broken ones: UTF-8 with a few bad bytes.

    Where a file states UTF-8, as pages made of parts in several charsets do, it is enough that they prevail.
    """
    sample = text[:SAMPLE_BYTES]
    broken = sample.count(REPLACEMENT)
    return len(MULTIBYTE.findall(sample)) > (1 if is_stated else 4) * broken
