"""Removal of characters that can't be stored: PostgreSQL refuses NUL, a lone surrogate has no UTF-8."""

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def is_storable(text: str) -> bool:
    """Return whether all of `text` can be stored."""
    return _UNSTORABLE.search(text) is None


def strip_unstorable(text: str) -> str:
    """Return `text` without the characters that can't be stored, which no document has."""
    return _UNSTORABLE.sub("", text)
