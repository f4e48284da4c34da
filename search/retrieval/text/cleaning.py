"""Text that can be stored: PostgreSQL keeps no NUL, and half of a surrogate pair has no UTF-8."""

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def is_storable(text: str) -> bool:
    """Return whether all of `text` can be stored."""
    return _UNSTORABLE.search(text) is None


def storable(text: str) -> str:
    """Return `text` without what can't be stored, and so stands nowhere."""
    return _UNSTORABLE.sub("", text)
