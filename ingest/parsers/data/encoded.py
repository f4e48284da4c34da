"""Encoded data in text: `data:` addresses, and base64 of files and keys, which nobody searches for."""

import re
from collections.abc import Sequence
from typing import Final

DATA_ADDRESS: Final = re.compile(r"\b(data:[\w/+.-]{0,80})(?:;[\w=.-]{1,40}){0,4};base64,[A-Za-z0-9+/=%_-]*")
#: base64 longer than any word, key or hash in a text
LONG_RUN: Final = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{200,}={0,2}")
#: a line of base64 as programs break it; so many in a row are a file
WHOLE_LINE: Final = re.compile(r"\s*[A-Za-z0-9+/]{56,80}={0,2}\s*")
LEAST_LINES: Final = 8
#: a shorter line has no such data
LONG_LINE: Final = 56
ELLIPSIS: Final = "…"


def leave_out_encoded(lines: Sequence[str], *, is_code: bool) -> tuple[Sequence[str], int]:
    """Return the lines without encoded data, and the number of characters left out.

    Code keeps all but what is in `data:` addresses.
    """
    kept = list(lines)
    start = 0
    for number, line in enumerate((*lines, "")):
        if len(line) >= LONG_LINE and "base64," in line:
            kept[number] = DATA_ADDRESS.sub(r"\1", line)
        if is_code:
            continue
        if len(line) >= LONG_LINE:
            kept[number] = LONG_RUN.sub(_leave_out, kept[number])
        if len(line) < LONG_LINE or not WHOLE_LINE.fullmatch(line):
            if number - start >= LEAST_LINES and _is_encoded("".join(lines[start:number])):
                kept[start:number] = [ELLIPSIS] + [""] * (number - start - 1)
            start = number + 1
    left_out = sum(map(len, lines)) - sum(map(len, kept))
    return (kept, left_out) if left_out else (lines, 0)


def _leave_out(run: re.Match[str]) -> str:
    return ELLIPSIS if _is_encoded(run[0]) else run[0]


def _is_encoded(text: str) -> bool:
    """Return whether a run has letters of both cases and digits, as base64 of anything has."""
    return all(re.search(pattern, text) for pattern in ("[a-z]", "[A-Z]", "[0-9]"))
