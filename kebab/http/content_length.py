"""Parser of `Content-Length`."""

from typing import Final

# Enough digits for any size; `int` raises for thousands of them.
_DIGITS: Final = 19


def parse_content_length(length: str) -> int | None:
    """Return the bytes of a `Content-Length`: at most the first 19 digits; None if it is no number."""
    if not length.isdecimal():
        return None
    return int(length.lstrip("0")[:_DIGITS] or "0")
