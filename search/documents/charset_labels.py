"""Codecs by the labels of charsets in files and mails."""

import codecs
import re
from contextlib import suppress
from types import MappingProxyType
from typing import Final

import webencodings

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
