"""The header of a table, which each chunk of its rows repeats."""

import re
from collections.abc import Sequence
from typing import Final

#: Between the cells of a row, as the parsers write it.
_BORDER: Final = " | "
_MARKDOWN_RULE: Final = re.compile(r"\s*+\|?\s*+:?-++:?\s*+(?:\|\s*+:?-++:?\s*+)*+\|?\s*+")
_LETTER: Final = re.compile(r"[^\W\d_]")
#: Columns are often named by years.
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
#: Rows in which a header is looked for: a title and notes may stand above it.
HEADER_ROWS: Final = 20
#: Rows above a header that are repeated with it.
_MOST_ABOVE: Final = 3
#: Characters of a column's name; longer cells are values.
_MOST_CHARS: Final = 60
_LEAST_CELLS: Final = 2


def find_header(lines: Sequence[str]) -> tuple[int, int]:
    """Return the numbers of the first and last line of a table's header, from 1; (1, 0) without one.

    A header is the first row that fills more than half of the columns, if its cells are short texts with a
    letter, or years. Their names differ, unless a row of groups stands above them. A title of few rows above
    it is part of it.
    """
    if len(lines) > 1 and "|" in lines[1] and _MARKDOWN_RULE.fullmatch(lines[1]):
        return 1, 2
    rows = [_cells(line) for line in lines[:HEADER_ROWS]]
    width = max((len(row) for row in rows), default=0)
    for number, cells in enumerate(rows, start=1):
        if len(cells) < _LEAST_CELLS or 2 * len(cells) <= width:
            continue
        if not _has_names(cells):
            if len(cells) == width:
                break
            continue
        above, below = rows[number - 2] if number > 1 else [], rows[number] if number < len(rows) else []
        may_be_note = any(map(_YEAR.fullmatch, cells)) and _has_names(below)
        is_named = len(set(cells)) == len(cells) and not may_be_note
        if is_named or (len(above) >= _LEAST_CELLS and _has_names(above)):
            return (1 if number - 1 <= _MOST_ABOVE else number), number
        if not _has_names(below):
            break
    return 1, 0


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split(_BORDER) if cell.strip()]


def _has_names(cells: Sequence[str]) -> bool:
    named = [cell for cell in cells if not _YEAR.fullmatch(cell)]
    return bool(named) and all(len(cell) <= _MOST_CHARS and _LETTER.search(cell) for cell in named)
