"""Removal of characters that can't be stored: PostgreSQL refuses NUL, a lone surrogate has no UTF-8."""

import re
import unicodedata
from itertools import accumulate

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def is_storable(text: str) -> bool:
    """Return whether all of `text` can be stored."""
    return _UNSTORABLE.search(text) is None


def strip_unstorable(text: str) -> str:
    """Return `text` without the characters that can't be stored, which no document has."""
    return _UNSTORABLE.sub("", text)


def cut_text(text: str, most: int) -> str:
    """Return the beginning of `text` that has at most `most` characters, in compatibility form as well."""
    cut = text[:most]
    if cut.isascii() or len(_unfold(cut)) <= most:
        return cut
    sizes = accumulate(map(len, map(_unfold, cut)))
    return cut[: sum(size <= most for size in sizes)]


def _unfold(text: str) -> str:
    return unicodedata.normalize("NFKD", text)
