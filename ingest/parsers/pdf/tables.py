"""Tables of a page: successive lines whose cells stand below each other, and rows of several lines."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import Final

from ingest.parsers.pdf.paragraphs import LINE_HYPHEN
from ingest.parsers.pdf.types import HYPHEN, Segment, TextLine

#: lines of a table with its header, and distance in points up to which the edges of two cells are one
MIN_ROWS: Final = 3
SAME_EDGE: Final = 3.0
#: in heights of a line: width of a number, gap before it, and width of a bullet
MAX_NUMBER, MIN_GAP, MARKER = 8.0, 1.0, 1.5
#: pitch of the lines of a cell in heights of a line, and ratio of a pitch between rows to it
CELL_PITCH, ROW_PITCH = 1.6, 1.25
#: lines of one cell that the others of its row don't have
MAX_FRAGMENTS: Final = 3
#: end of a cell's line after which it goes on
OPEN_END: Final = re.compile(rf"[-,&/(\u2010{HYPHEN}]$")


def split_tables(lines: Sequence[TextLine]) -> Iterator[tuple[bool, Sequence[TextLine]]]:
    """Yield the lines of a page in their order, cut into tables (True) and other text.

    A row of a table is one line, also where its cells have several.
    """
    start = done = 0
    row = lines[0] if lines else None
    for index in range(1, len(lines) + 1):
        if index < len(lines) and row is not None:
            is_below = _is_below(row, lines[index])
            if is_below or _is_fragment(row, lines, index, is_table=index - start >= MIN_ROWS):
                row = lines[index] if is_below else row
                continue
        if index - start >= MIN_ROWS:
            if done < start:
                yield False, lines[done:start]
            yield True, _rows(lines[start:index])
            done = index
        start = index
        row = lines[index] if index < len(lines) else None
    if done < len(lines):
        yield False, lines[done:]


def _is_fragment(row: TextLine, lines: Sequence[TextLine], index: int, *, is_table: bool) -> bool:
    """Return whether the line goes on with one cell of the row, before other rows or at a table's end.

    Of two cells it is the first one: a paragraph may hang from the second.
    """
    line = lines[index]
    if len(line.cells) != 1 or lines[index - 1].bottom - line.bottom > CELL_PITCH * line.height:
        return False
    columns = row.cells if len(row.cells) > 2 else row.cells[:1]
    is_cell = any(
        abs(line.left - cell.left) < SAME_EDGE
        and (following is None or following.left - max(cell.right, line.right) > MIN_GAP * line.height)
        for cell, following in zip(columns, (*row.cells[1:], None), strict=False)
    )
    below = islice(lines, index + 1, index + 1 + MAX_FRAGMENTS)
    is_inside = any(_is_below(row, each) for each in below) or (is_table and line.text[:1].islower())
    return is_cell and len(row.cells) > 1 and is_inside


def _rows(lines: Sequence[TextLine]) -> Sequence[TextLine]:
    """Return the rows of a table: lines that its pitch sets apart are one, else those that go on with cells.

    At least half of the lines that are joined begin in lower case below a full line, and of the rows few do.
    """
    edges: dict[int, float] = {}
    for cell in (cell for line in lines for cell in line.cells):
        edges[_column_of(cell)] = max(edges.get(_column_of(cell), 0.0), cell.right)
    pitches = [one.bottom - other.bottom for one, other in pairwise(lines)]
    tight = ROW_PITCH * min((pitch for pitch in pitches if pitch > 0), default=0.0)
    for is_apart in (True, False) if sum(pitch > tight for pitch in pitches) > 1 else (False,):
        rows = [[[cell] for cell in lines[0].cells]]
        firsts = [lines[0]]
        joined = open_ended = 0
        for pitch, line in zip(pitches, lines[1:], strict=True):
            places = _places(rows[-1], line) if pitch <= min(tight, CELL_PITCH * line.height) else []
            below = [(rows[-1][place], cell) for place, cell in zip(places, line.cells, strict=False)]
            going_on = [_goes_on(column[-1], cell, edges) for column, cell in below]
            if below and (is_apart or all(going_on)):
                joined += 1
                open_ended += any(going_on)
                for column, cell in below:
                    column.append(cell)
            else:
                rows.append([[cell] for cell in line.cells])
                firsts.append(line)
        lower = sum(line.text[:1].islower() for line in firsts)
        is_table = is_apart or len(rows) >= MIN_ROWS
        if is_table and joined and 2 * open_ended >= joined and 2 * lower <= len(rows):
            return [
                replace(line, text=" ".join(map(_cell_text, row)))
                for line, row in zip(firsts, rows, strict=True)
            ]
    return lines


def _column_of(cell: Segment) -> int:
    return round(cell.left / SAME_EDGE)


def _places(row: Sequence[Sequence[Segment]], line: TextLine) -> list[int]:
    """Return the columns of the row for the line's cells, none if one is in no column or a new number."""
    places: list[int] = []
    for cell in line.cells:
        at = [n for n, (first, *_) in enumerate(row) if first.left < cell.right and cell.left < first.right]
        if len(at) != 1 or at[0] in places or not (_has_letter(cell) or _has_letter(row[at[0]][-1])):
            return []
        places += at
    return places


def _has_letter(cell: Segment) -> bool:
    return any(map(str.isalpha, cell.text))


def _goes_on(above: Segment, cell: Segment, edges: Mapping[int, float]) -> bool:
    """Return whether a cell goes on where it is below a line that has no room for its first word."""
    is_open = cell.text[:1].islower() or OPEN_END.search(above.text)
    return bool(is_open) and above.right + cell.first_width > edges[_column_of(above)]


def _cell_text(lines: Sequence[Segment]) -> str:
    """Return the lines of a cell as one, a divided word with the mark of its hyphen."""
    text = lines[0].text
    for line in lines[1:]:
        text = f"{text.removesuffix(HYPHEN)}{HYPHEN if LINE_HYPHEN.search(text) else ' '}{line.text}"
    return text


def _is_below(row: TextLine, following: TextLine) -> bool:
    """Return whether a cell other than the first is flush with one of the row above.

    On the right only short cells far from the one before are, such as numbers, and of no line that begins in
    lower case: so is every line of justified text.
    """
    above = _cells(row)[1:]
    may_be_prose = following.text[:1].islower()
    for before, cell in pairwise(_cells(following)):
        is_apart = cell.left - before.right > MIN_GAP * following.height
        is_short = is_apart and cell.right - cell.left < MAX_NUMBER * following.height and not may_be_prose
        for other in above:
            if abs(cell.left - other.left) < SAME_EDGE:
                return True
            if is_short and abs(cell.right - other.right) < SAME_EDGE:
                return True
    return False


def _cells(line: TextLine) -> Sequence[Segment]:
    """Return the cells of a line, without a bullet or a number before its text."""
    cells = line.cells
    return cells[1:] if cells and cells[0].right - cells[0].left < MARKER * line.height else cells
