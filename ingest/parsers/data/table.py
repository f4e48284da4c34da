"""CSV and TSV: the header as a heading above the rows, records undivided."""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

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
#: the line by which Excel learns the delimiter
SEPARATOR = re.compile(r"\"?sep=(.)\"?\s*$", re.IGNORECASE)
#: records that may stand above the header
MAX_PREAMBLE = 30

Record = Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The first line of the records, header included, and what separates their cells; None for one column."""

    first: int
    delimiter: str | None


def parse_table(content: bytes, file: FileType) -> Outline:
    """Return the rows of a CSV or TSV file as one table, its header as the heading above them.

    A chunk's breadcrumb thus names the columns, however far below the header it is. Without a header there
    is no heading. Lines are the file's own; a record of several lines is cut only when it fits in no chunk.
    Above the header there may be titles, comments and blank lines, which are paragraphs, and `sep=;`.
    """
    lines = split_lines(decode(content))
    layout = find_layout(lines)
    if layout is None:
        return Outline(lines=lines, blocks=tuple(cover_lines(lines, 0, ())))
    first, delimiter = layout.first, layout.delimiter
    starts = record_starts(lines, first, delimiter or ",")
    header = _header(lines[first - 1 :], delimiter) if delimiter else None
    blocks = [Block(kind="front_matter", span=LineSpan(1, 1))] if SEPARATOR.match(lines[0]) else []
    if header is not None and len(starts) > 1:
        text = " | ".join(" ".join(name.split()) for name in header if name.strip())
        blocks.append(Block(kind="heading", span=LineSpan(first, starts[1] - 1), text=text, level=1))
        starts = starts[1:]
    has_long_records = len(starts) < len(lines) - starts[0] + 1
    span = LineSpan(starts[0], len(lines))
    blocks.append(Block(kind="table", span=span, breaks=tuple(starts[1:]) if has_long_records else ()))
    return Outline(lines=lines, blocks=tuple(cover_lines(lines, 0, blocks)))


def find_layout(lines: Sequence[str]) -> Layout | None:
    """Return the layout with the most regular number of cells per record; ties go to more cells.

    None without a line that is neither blank nor a comment.
    """
    separator = SEPARATOR.match(lines[0]) if lines else None
    first = next(
        (
            number
            for number, line in enumerate(lines, start=1)
            if line.strip() and not line.startswith(COMMENT) and not (separator and number == 1)
        ),
        None,
    )
    if first is None:
        return None
    found: list[tuple[float, int, Layout]] = []
    for delimiter in [separator[1]] if separator else DELIMITERS:
        start, share, width = _regular_part(lines[first - 1 :], delimiter)
        if share >= REGULAR_SHARE and width >= MIN_COLUMNS:
            found.append((share, width, Layout(first=first + start, delimiter=delimiter)))
    if not found:
        return Layout(first=first, delimiter=None)
    return max(found, key=lambda each: (*each[:2], each[2].delimiter))[2]


def _regular_part(lines: Sequence[str], delimiter: str) -> tuple[int, float, int]:
    """Return the index of the line at which a table begins, below a preamble with fewer cells.

    With it the share of the records from there on that have the commonest number of cells, and that number.
    """
    sample = _sample(lines, delimiter)
    records = list(sample.values())
    widths = Counter(len(record) for record in records if len(record) >= MIN_COLUMNS)
    if not widths:
        return 0, 0.0, 0
    width = max(widths.items(), key=lambda counted: (counted[1], counted[0]))[0]
    used = Counter(filter(None, (_used_cells(record) for record in records if len(record) == width)))
    least = max(MIN_COLUMNS, max(used, key=lambda cells: (used[cells], cells), default=0))
    starts = (number for number, record in enumerate(records[:MAX_PREAMBLE]) if _is_full(record, least))
    above = next(starts, 0)
    rest = records[above:]
    return list(sample)[above], sum(len(record) == width for record in rest) / len(rest), width


def _used_cells(record: Record) -> int:
    """Return the number of cells up to the last one with text."""
    return max((number for number, cell in enumerate(record, start=1) if cell.strip()), default=0)


def _is_full(record: Record, cells: int) -> bool:
    """Return whether so many cells have text; the first may be empty, above names of rows."""
    return sum(bool(cell.strip()) for cell in record) >= cells - (not record[0].strip())


def _sample(lines: Sequence[str], delimiter: str) -> dict[int, Record]:
    """Return the first records that have cells, by the index of the line at which each begins."""
    reader = csv.reader((f"{line[:SAMPLE_LINE_CHARS]}\n" for line in lines), delimiter=delimiter)
    records: dict[int, Record] = {}
    begins = 0
    try:
        for record in reader:
            if record:
                records[begins] = record
            if len(records) == SAMPLE_RECORDS:
                break
            begins = reader.line_num
    except csv.Error:
        return {}
    return records


def record_starts(lines: Sequence[str], first: int, delimiter: str) -> list[int]:
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
    first, *rows = _sample(lines, delimiter).values()
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
