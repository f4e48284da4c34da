"""CSV and TSV: the header as a heading above the rows, records undivided."""

import csv
from collections import Counter
from collections.abc import Sequence
from itertools import islice

from ingest.parsers.blocks import cover_lines
from ingest.parsers.decode import decode, split_lines
from ingest.parsers.types import Block, FileType, LineSpan, Outline

DELIMITERS = ",\t;|"
SAMPLE_RECORDS = 60
SAMPLE_LINE_CHARS = 4_000
#: share of the sample's records that must have the commonest number of cells
REGULAR_SHARE = 0.8
MIN_COLUMNS = 2
#: characters of a column's name; longer cells are values
COLUMN_CHARS = 60
COMMENT = "#"

Record = Sequence[str]


def parse_table(content: bytes, file: FileType) -> Outline:
    """Return the rows of a CSV or TSV file as one table, its header as the heading above them.

    A chunk's breadcrumb thus names the columns, however far below the header it is. Without a header there
    is no heading. Lines are the file's own; a record of several lines is cut only when it fits in no chunk.
    """
    lines = split_lines(decode(content))
    first = _first_row(lines)
    if first is None:
        return Outline(lines=lines, blocks=tuple(cover_lines(lines, 0, ())))
    delimiter = _delimiter(lines[first - 1 :])
    starts = _record_starts(lines, first, delimiter or ",")
    header = _header(lines[first - 1 :], delimiter) if delimiter else None
    blocks = []
    if header is not None and len(starts) > 1:
        text = " | ".join(" ".join(name.split()) for name in header if name.strip())
        blocks.append(Block(kind="heading", span=LineSpan(first, starts[1] - 1), text=text, level=1))
        starts = starts[1:]
    has_long_records = len(starts) < len(lines) - starts[0] + 1
    span = LineSpan(starts[0], len(lines))
    blocks.append(Block(kind="table", span=span, breaks=tuple(starts[1:]) if has_long_records else ()))
    return Outline(lines=lines, blocks=tuple(cover_lines(lines, 0, blocks)))


def _first_row(lines: Sequence[str]) -> int | None:
    """Return the number of the first line that is neither blank nor a comment."""
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith(COMMENT):
            return number
    return None


def _delimiter(lines: Sequence[str]) -> str | None:
    """Return the delimiter with the most regular number of cells per record, None without one.

    Ties go to the one with more cells.
    """
    found = [(*_regularity(lines, delimiter), delimiter) for delimiter in DELIMITERS]
    regular = [one for one in found if one[0] >= REGULAR_SHARE and one[1] >= MIN_COLUMNS]
    return max(regular)[2] if regular else None


def _regularity(lines: Sequence[str], delimiter: str) -> tuple[float, int]:
    """Return the share of the records that have the commonest number of cells, and that number."""
    widths = Counter(len(record) for record in _sample(lines, delimiter))
    if not widths:
        return 0.0, 0
    width, times = max(widths.items(), key=lambda counted: (counted[1], counted[0]))
    return times / widths.total(), width


def _sample(lines: Sequence[str], delimiter: str) -> list[Record]:
    short = (f"{line[:SAMPLE_LINE_CHARS]}\n" for line in lines)
    try:
        return list(islice(filter(None, csv.reader(short, delimiter=delimiter)), SAMPLE_RECORDS))
    except csv.Error:
        return []


def _record_starts(lines: Sequence[str], first: int, delimiter: str) -> list[int]:
    """Return the numbers of the lines at which records begin; all lines where quotes do not balance."""
    reader = csv.reader((f"{line}\n" for line in lines[first - 1 :]), delimiter=delimiter)
    starts = [first]
    try:
        starts.extend(first + reader.line_num for _ in reader)
    except csv.Error:
        return list(range(first, len(lines) + 1))
    return starts[:-1]


def _header(lines: Sequence[str], delimiter: str) -> Record | None:
    """Return the first record if it names columns, else None.

    Column names are short, unique, no numbers, and no values of their column further down.
    """
    first, *rows = _sample(lines, delimiter)
    names = [name.strip() for name in first]
    if len(set(names)) < len(names) or any(len(name) > COLUMN_CHARS or _is_number(name) for name in names):
        return None
    if names.count("") > 1:
        return None
    is_value = any(
        cell.strip() == name for row in rows for name, cell in zip(names, row, strict=False) if name
    )
    return None if is_value else first


def _is_number(text: str) -> bool:
    return bool(text) and not any(character.isalpha() for character in text)
