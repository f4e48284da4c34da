"""The header of a table, which each chunk of its rows repeats, or each cell of rows wider than a chunk."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Final

#: Between the cells of a row, as the parsers write it.
CELL_BORDER: Final = " | "
#: Characters of a line of named cells, of which a chunk has several.
_LINE_CHARS: Final = 300
#: Characters of named cells in a table; further rows are written without names.
_MAX_NAMED_CHARS: Final = 8 * 1024**2
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
    it is part of it, and so is a second row of names below groups.
    """
    if len(lines) > 1 and "|" in lines[1] and _MARKDOWN_RULE.fullmatch(lines[1]):
        return 1, 2
    whole = [line.split(CELL_BORDER) for line in lines[:HEADER_ROWS]]
    rows = [[cell.strip() for cell in cells if cell.strip()] for cells in whole]
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
            last = number + has_second_row(*whole[number - 1 : number + 2])
            return (1 if number - 1 <= _MOST_ABOVE else number), last
        if not _has_names(below):
            break
    return 1, 0


def has_second_row(
    first: Sequence[str], second: Sequence[str] = (), third: Sequence[str] = (), *_: Sequence[str]
) -> bool:
    """Return whether the row below a header names the columns of its groups: `Spring | |` above `High | Low`.

    Groups are repeated or have empty cells behind them. Below them stand nothing but names, some repeated or
    missing, and the row after that has a number.
    """
    names, values = ([cell.strip() for cell in row if cell.strip()] for row in (second, third))
    columns = list(zip_longest(first, second, fillvalue=""))
    groups = [cell.strip() for cell in first if cell.strip()]
    has_groups = len(set(groups)) < len(groups) or any(
        below.strip() and not above.strip() for above, below in columns
    )
    is_partial = any(above.strip() and not below.strip() for above, below in columns)
    is_below = has_groups and _has_names(names) and not _has_names(values)
    return is_below and (is_partial or len(set(names)) < len(names))


def column_names(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the name of each column below the rows of a header; groups reach to the next one."""
    width = max(map(len, rows), default=0)
    columns: list[list[str]] = [[] for _ in range(width)]
    for row in rows:
        reaches = row is not rows[-1] and sum(map(bool, row)) >= _LEAST_CELLS
        above = ""
        for column, cell in zip_longest(columns, row[:width], fillvalue=""):
            text = " ".join(cell.split())
            above = text or (above if reaches else "")
            column.append(above)  # type: ignore[union-attr]  # as many columns as cells, or more
    return [" ".join(filter(None, column)) for column in columns]


def name_cells(names: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[list[str]]:
    """Yield the lines of each row: cells behind the names of columns, the first cell on each line."""
    left = _MAX_NAMED_CHARS
    for row in rows:
        lines = list(_named_lines(names, row)) if left > 0 else [CELL_BORDER.join(row)]
        left -= sum(map(len, lines))
        yield lines


def _named_lines(names: Sequence[str], row: Sequence[str]) -> Iterator[str]:
    cells = ((name, " ".join(cell.split())) for name, cell in zip_longest(names, row, fillvalue=""))
    first, *others = [f"{name}: {cell}" if name else cell for name, cell in cells if cell] or [""]
    line, start = first, first if len(first) <= _LINE_CHARS // 2 else ""
    for cell in others:
        if len(line) + len(cell) > _LINE_CHARS and line != start:
            yield line
            line = start
        line += CELL_BORDER + cell if line else cell
    yield line


def _has_names(cells: Sequence[str]) -> bool:
    named = [cell for cell in cells if not _YEAR.fullmatch(cell)]
    return bool(named) and all(len(cell) <= _MOST_CHARS and _LETTER.search(cell) for cell in named)
