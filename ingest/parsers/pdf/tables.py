"""Tables of a page: successive lines whose cells stand below each other."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from ingest.parsers.pdf.types import Segment, TextLine

#: lines of a table with its header, and distance in points up to which the edges of two cells are one
MIN_ROWS: Final = 3
SAME_EDGE: Final = 3.0
#: in heights of a line: width of a number, gap before it, and width of a bullet
MAX_NUMBER, MIN_GAP, MARKER = 8.0, 1.0, 1.5


def split_tables(lines: Sequence[TextLine]) -> Iterator[tuple[bool, Sequence[TextLine]]]:
    """Yield the lines of a page in their order, cut into tables (True) and other text."""
    start = done = 0
    for index in range(1, len(lines) + 1):
        if index < len(lines) and _is_below(lines[index - 1], lines[index]):
            continue
        if index - start >= MIN_ROWS:
            if done < start:
                yield False, lines[done:start]
            yield True, lines[start:index]
            done = index
        start = index
    if done < len(lines):
        yield False, lines[done:]


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
