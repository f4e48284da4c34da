"""Ordering of version tags."""

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

_PART = re.compile(r"[0-9]+|[^\W\d_]+")
# v1.0-rc1 < v1.0 < v1.0.1: letters come before the end, the end before numbers.
_LETTERS, _END, _NUMBER = 0, 1, 2


def newest_first(items: Iterable[T], *, tag_of: Callable[[T], str]) -> list[T]:
    """Sort the items by their tags' version numbers, highest first: v18, v17.2, v17, v17-beta, v9."""
    return sorted(items, key=lambda item: (_parts(tag_of(item)), tag_of(item)), reverse=True)


def _parts(tag: str) -> list[tuple[int, int, str]]:
    parts = [
        (_NUMBER, int(part), "") if part.isascii() and part.isdigit() else (_LETTERS, 0, part.lower())
        for part in _PART.findall(tag)
    ]
    return [*parts, (_END, 0, "")]
