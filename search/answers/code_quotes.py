"""Pieces of source code that answer a question: documented signatures, and short runs of lines."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

_SIGNATURE_LINES: Final = 8
_DOCUMENTATION_LINES: Final = 12
_RUN_LINES: Final = 12
_DECLARATION: Final = re.compile(
    r"\s*(?:[a-z]+(?:\([a-z]+\))?\s+){0,4}"
    r"(?:def|class|function\*?|func|fn|fun|interface|enum|struct|trait|impl|sub|macro_rules!|CREATE\s+TABLE)\s+\w",
)
# Comments and decorators right above a declaration.
_ABOVE: Final = re.compile(r"\s*(?://|#|/?\*|--|@)")
_DOCSTRING: Final = re.compile(r"\s*[rbu]?(\"\"\"|''')")
_BRACKETS: Final = {"(": 1, "[": 1, ")": -1, "]": -1}


def code_pieces(code: str) -> Iterator[str]:
    """Yield the signatures with their documentation, then the runs of lines without blank ones."""
    lines = code.splitlines()
    for at, line in enumerate(lines):
        if _DECLARATION.match(line):
            yield "\n".join(
                lines[_first_line(lines, at) : _documentation_end(lines, _signature_end(lines, at))]
            )
    for is_blank, run in groupby(lines, lambda line: not line.strip()):
        if not is_blank:
            yield "\n".join(list(run)[:_RUN_LINES])


def _first_line(lines: Sequence[str], at: int) -> int:
    while at > 0 and _ABOVE.match(lines[at - 1]):
        at -= 1
    return at


def _signature_end(lines: Sequence[str], at: int) -> int:
    """Return the index after the line that closes the brackets of the signature."""
    depth = 0
    for end in range(at, min(at + _SIGNATURE_LINES, len(lines))):
        depth += sum(_BRACKETS.get(character, 0) for character in lines[end])
        if depth <= 0:
            return end + 1
    return at + 1


def _documentation_end(lines: Sequence[str], at: int) -> int:
    """Return the index after the docstring at a line; the line's own if there is none."""
    opening = _DOCSTRING.match(lines[at]) if at < len(lines) else None
    if opening is None:
        return at
    quotes = opening[1]
    if quotes in lines[at][opening.end() :]:
        return at + 1
    for end in range(at + 1, min(at + _DOCUMENTATION_LINES, len(lines))):
        if quotes in lines[end]:
            return end + 1
    return at
