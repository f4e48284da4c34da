"""The header of a table, which each chunk of its rows repeats."""

import re
from collections.abc import Sequence
from typing import Final

#: Between the cells of a row, as the parsers write it.
_BORDER: Final = " | "
_MARKDOWN_RULE: Final = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_LETTER: Final = re.compile(r"[^\W\d_]")
#: Rows in which a header is looked for: a title or a note may stand above it.
HEADER_ROWS: Final = 4
#: Characters of a column's name; longer cells are values.
_MOST_CHARS: Final = 60
_LEAST_CELLS: Final = 2


def count_header_lines(lines: Sequence[str]) -> int:
    """Return how many of a table's first lines end with its header, 0 without one.

    A header has two cells or more, each a short text with a letter and without a number of its own.
    """
    if len(lines) > 1 and "|" in lines[1] and _MARKDOWN_RULE.fullmatch(lines[1]):
        return 2
    for number, line in enumerate(lines[:HEADER_ROWS], start=1):
        cells = [cell.strip() for cell in line.split(_BORDER) if cell.strip()]
        if len(cells) >= _LEAST_CELLS:
            return number if len(set(cells)) == len(cells) and all(map(_is_name, cells)) else 0
    return 0


def _is_name(cell: str) -> bool:
    return len(cell) <= _MOST_CHARS and _LETTER.search(cell) is not None
