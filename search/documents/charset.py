"""Detection of a file's charset: byte order mark, NULs in pairs of bytes, UTF-8, else the likeliest."""

import codecs
import re
import unicodedata
from collections import Counter
from contextlib import suppress
from types import MappingProxyType
from typing import Final

import webencodings

REPLACEMENT: Final = "\ufffd"
SAMPLE_BYTES = 64 * 1024
#: byte order marks at the start of a file, in this order, as one of UTF-32 begins like one of UTF-16
MARKS: Final = MappingProxyType(
    {
        codecs.BOM_UTF32_LE: "utf-32",
        codecs.BOM_UTF32_BE: "utf-32",
        codecs.BOM_UTF16_LE: "utf-16",
        codecs.BOM_UTF16_BE: "utf-16",
    }
)
#: charsets in common use; the detector knows three times as many and confuses these with them
CHARSETS = (
    *("cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "iso8859_2"),
    *("gb18030", "big5", "cp932", "euc_jp", "cp949", "cp866"),
)
WESTERN = "cp1252"
#: charsets that differ from the Western one in a few letters
LIKE_WESTERN = frozenset({"cp1250", "cp1254", "cp1257", "iso8859_2"})
#: maximum share of unlikely characters for the detector; text in code and markup has more of them than prose
MAX_MESS = 0.4
ASCII_TEXT = re.compile(r"[\n\x20-\x7e]")
MULTIBYTE = re.compile("[\x80-\ufffc\ufffe-\U0010ffff]")
#: minimum share of ASCII letters, digits and blanks of text in a Latin script, whatever the rest is
LATIN_SHARE = 0.7
#: minimum share of one script among the remaining characters of other text
SCRIPT_SHARE = 0.7
#: first words of Unicode names: East Asian scripts and punctuation, which occur together
EAST_ASIAN = frozenset(
    {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC", "FULLWIDTH"}
)

#: charsets by Python's name, each with the one that is meant by it (WHATWG Encoding)
SUPERSETS: Final = MappingProxyType(
    {
        "ascii": "cp1252",
        "iso8859-1": "cp1252",
        "iso8859-9": "cp1254",
        "iso8859-11": "cp874",
        "tis-620": "cp874",
        "gb2312": "gb18030",
        "gbk": "gb18030",
        "shift_jis": "cp932",
        "euc_kr": "cp949",
        "big5": "big5hkscs",
        "iso2022_jp": "iso2022_jp_ext",
        "utf-16-le": "utf-16",
        "utf-8": "utf-8-sig",
    }
)
#: prefixes of Python's codecs that decode text; others are slow or no charsets
TEXT_CODECS: Final = (
    "utf",
    "iso",
    "cp",
    "koi8",
    "gb",
    "big5",
    "euc",
    "shift_jis",
    "mac",
    "tis",
    "hz",
    "johab",
)
CODE_PAGE: Final = re.compile(r"x?-?(?:cp|ms|ibm|dos|windows|csibm|cspc)?[-_]?(\d{3,5})")
MAC_ALIASES: Final = MappingProxyType({"mac-ce": "mac-latin2", "mac-centraleurroman": "mac-latin2"})
#: names in the WHATWG table that stand for no charset
NO_CHARSETS: Final = frozenset({"replacement", "x-user-defined"})


def charset_for_label(label: str) -> str | None:
    """Return Python's codec for a charset's label in a file or a mail, None for one that names no charset.

    Labels mean what the WHATWG Encoding table says (`gb2312` is GBK, `latin1` windows-1252); those it lacks
    are Python's aliases, with or without `x-`, and code pages by any prefix of their number.
    """
    name = label.strip(" \t\r\n\f\"'").lower()
    if not name.isascii():
        return None
    page = CODE_PAGE.fullmatch(name)
    plain = name.removeprefix("x-")
    for candidate in (name, plain, f"cp{page[1]}" if page else plain, MAC_ALIASES.get(plain, plain)):
        known = webencodings.lookup(candidate)
        if known is not None and known.name not in NO_CHARSETS:
            codec = str(known.codec_info.name)
            return SUPERSETS.get(codec, codec)
        with suppress(LookupError, ValueError):
            codec = codecs.lookup(candidate).name
            if codec.startswith(TEXT_CODECS):
                return SUPERSETS.get(codec, codec)
    return None


def charset_of(content: bytes) -> str:
    """Return the codec for `content`; some bytes may still be invalid in it."""
    if (charset := marked_charset(content) or wide_charset(content)) is not None:
        return charset
    try:
        content.decode("utf-8-sig")
    except UnicodeDecodeError:
        is_utf8 = is_damaged_utf8(content.decode("utf-8-sig", errors="replace"))
        return "utf-8-sig" if is_utf8 else likeliest_charset(content)
    return "utf-8-sig"


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


def is_damaged_utf8(text: str) -> bool:
    """Return whether valid multi-byte characters far outnumber broken ones: UTF-8 with a few bad bytes."""
    sample = text[:SAMPLE_BYTES]
    broken = sample.count(REPLACEMENT)
    return len(MULTIBYTE.findall(sample)) > 4 * broken


def likeliest_charset(content: bytes) -> str:
    """Return the charset in which the bytes read most like a language; ties go to the Western one.

    Of 683 samples of 120 to 3,000 characters from documents in eleven languages, 95.0 % were decoded without
    an error; with the detector's own choice among all its charsets, 76.4 %.
    """
    from charset_normalizer import from_bytes  # 30 ms to import, and few files need it

    matches = from_bytes(content[:SAMPLE_BYTES], cp_isolation=list(CHARSETS), threshold=MAX_MESS)
    best = matches.best()
    if best is None or best.encoding in {"utf_8", "ascii"}:
        return WESTERN
    if best.encoding in LIKE_WESTERN:
        western = next((match for match in matches if match.encoding == WESTERN), None)
        if western is not None and western.chaos <= best.chaos + 0.01:
            return WESTERN
    return best.encoding
