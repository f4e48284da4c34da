"""How long a body is said to be."""

from typing import Final

# So few digits tell more bytes than anything may have; `int` refuses thousands of them.
_DIGITS: Final = 19


def stated_bytes(length: str) -> int | None:
    """Return the bytes of a `Content-Length`; of a longer number its first digits, None of any other text."""
    if not length.isdecimal():
        return None
    return int(length.lstrip("0")[:_DIGITS] or "0")
