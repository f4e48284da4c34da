"""CSV and TSV: the header as a heading above the rows, records undivided."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from ingest.parsers.blocks import cover_lines
from ingest.parsers.decode import decode, split_lines
from ingest.parsers.outline_writer import column_names, has_second_row, name_cells
from ingest.parsers.types import Block, FileType, LineSpan, Outline, OutlineDraft

if TYPE_CHECKING:
    import _csv

DELIMITERS = ",\t;|"
SAMPLE_RECORDS = 60
SAMPLE_LINE_CHARS = 4_000
#: share of the sample's records that must have the commonest number of cells
REGULAR_SHARE = 0.8
MIN_COLUMNS = 2
#: characters of a column's name; longer cells are values
COLUMN_CHARS = 60
#: characters of a header that fits in a breadcrumb
HEADER_CHARS = 200
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
    #: whether quotes hold a cell together, rather than being signs of inches
    has_quotes: bool = True
    #: cells of most records
    width: int = 1

    def records(self, lines: Iterable[str]) -> "_csv.Reader":
        """Return the reader of the records on lines."""
        return csv.reader(
            (f"{line}\n" for line in lines),
            delimiter=self.delimiter or ",",
            quoting=csv.QUOTE_MINIMAL if self.has_quotes else csv.QUOTE_NONE,
        )


def parse_table(content: bytes, file: FileType) -> Outline:
    """Return the rows of a CSV or TSV file as one table, its header as the heading above them.

    A chunk's breadcrumb thus names the columns, however far below the header it is; where the header is too
    long for that, each cell has the name of its column. Without a header there is no heading. Lines are the
    file's own; a record of several lines is cut only when it fits in no chunk. Above the header there may be
    titles, comments and blank lines, which are paragraphs, and `sep=;`.
    """
    lines = split_lines(decode(content))
    layout = find_layout(lines)
    if layout is None:
        return Outline(lines=lines, blocks=tuple(cover_lines(lines, 0, ())))
    first = layout.first
    starts = record_starts(lines, layout)
    n_rows, names = _header(lines[first - 1 :], layout)
    blocks = [Block(kind="front_matter", span=LineSpan(1, 1))] if SEPARATOR.match(lines[0]) else []
    if len(starts) > n_rows > 0:
        text = " | ".join(filter(None, names))
        if len(text) > HEADER_CHARS:
            return _named_records(lines, starts, layout, names=names, n_rows=n_rows)
        blocks.append(Block(kind="heading", span=LineSpan(first, starts[n_rows] - 1), text=text, level=1))
        starts = starts[n_rows:]
    has_long_records = len(starts) < len(lines) - starts[0] + 1
    span = LineSpan(starts[0], len(lines))
    blocks.append(Block(kind="table", span=span, breaks=tuple(starts[1:]) if has_long_records else ()))
    return Outline(lines=lines, blocks=tuple(cover_lines(lines, 0, blocks)))


def _named_records(
    lines: Sequence[str], starts: Sequence[int], layout: Layout, *, names: Sequence[str], n_rows: int
) -> Outline:
    """Return the lines above the records, then a list of lines of named cells for each record."""
    above = starts[n_rows] - 1
    draft = OutlineDraft(lines=list(lines[:above]), origins=[LineSpan(n, n) for n in range(1, above + 1)])
    draft.blocks += cover_lines(draft.lines, 0, ())
    ends = [*(start - 1 for start in starts[n_rows + 1 :]), len(lines)]
    rows = _records_from(lines, starts[n_rows:], ends, layout)
    for start, end, named in zip(starts[n_rows:], ends, name_cells(names, rows), strict=True):
        draft.lines += named
        draft.origins += [LineSpan(start, end)] * len(named)
    span = LineSpan(above + 1, len(draft.lines))
    draft.blocks.append(Block(kind="list", span=span))
    return draft.outline()


def _records_from(
    lines: Sequence[str], starts: Sequence[int], ends: Sequence[int], layout: Layout
) -> Iterator[Record]:
    for start, end in zip(starts, ends, strict=True):
        yield next(layout.records(lines[start - 1 : end]), [])


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
    for delimiter, has_quotes in product([separator[1]] if separator else DELIMITERS, (True, False)):
        layout = Layout(first=first, delimiter=delimiter, has_quotes=has_quotes)
        start, share, width = _regular_part(lines[first - 1 :], layout)
        if share >= REGULAR_SHARE and width >= MIN_COLUMNS:
            found.append((share, width, replace(layout, first=first + start, width=width)))
    if not found:
        return Layout(first=first, delimiter=None)
    return max(found, key=lambda each: (each[0], each[2].has_quotes, each[1], each[2].delimiter))[2]


def _regular_part(lines: Sequence[str], layout: Layout) -> tuple[int, float, int]:
    """Return the index of the line at which a table begins, below a preamble with fewer cells.

    With it the share of the records from there on that have the commonest number of cells, and that number.
    """
    sample = _sample(lines, layout)
    records = list(sample.values())
    widths = Counter(len(record) for record in records if len(record) >= MIN_COLUMNS)
    if not widths:
        return 0, 0.0, 0
    width = max(widths.items(), key=lambda counted: (counted[1], counted[0]))[0]
    used = Counter(filter(None, (_used_cells(record) for record in records if len(record) == width)))
    least = max(MIN_COLUMNS, max(used, key=lambda cells: (used[cells], cells), default=0))
    starts = (number for number, record in enumerate(records[:MAX_PREAMBLE]) if _is_full(record, least))
    above = next(starts, 0)
    above -= above > 0 and has_second_row(*records[above - 1 : above + 2])
    rest = records[above:]
    return list(sample)[above], sum(len(record) == width for record in rest) / len(rest), width


def _used_cells(record: Record) -> int:
    """Return the number of cells up to the last one with text."""
    return max((number for number, cell in enumerate(record, start=1) if cell.strip()), default=0)


def _is_full(record: Record, cells: int) -> bool:
    """Return whether so many cells have text; the first may be empty, above names of rows."""
    return sum(bool(cell.strip()) for cell in record) >= cells - (not record[0].strip())


def _sample(lines: Sequence[str], layout: Layout) -> dict[int, Record]:
    """Return the first records that have cells, by the index of the line at which each begins."""
    reader = layout.records(line[:SAMPLE_LINE_CHARS] for line in lines)
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


def record_starts(lines: Sequence[str], layout: Layout) -> list[int]:
    """Return the numbers of the lines at which records begin; all lines where quotes do not balance."""
    first = layout.first
    reader = layout.records(lines[first - 1 :])
    starts = [first]
    every_line = list(range(first, len(lines) + 1))
    try:
        for record in reader:
            starts.append(first + reader.line_num)
            if starts[-1] > starts[-2] + 1 and layout.delimiter and len(record) != layout.width:
                return every_line  # a quote without an end
    except csv.Error:
        return every_line
    return starts[:-1]


def _header(lines: Sequence[str], layout: Layout) -> tuple[int, Sequence[str]]:
    """Return the number of records that name columns, 0 to 2, and the names.

    Column names are short, unique, no numbers, and no values of their column further down.
    """
    records = list(_sample(lines, layout).values()) if layout.delimiter else []
    n_rows = 1 + has_second_row(*records[:3]) if records else 0
    names = column_names(records[:n_rows])
    if len(set(names)) < len(names) or any(len(name) > COLUMN_CHARS or _is_number(name) for name in names):
        return 0, ()
    if names.count("") > 1:
        return 0, ()
    is_value = any(
        cell.strip() == name
        for row in records[n_rows:]
        for name, cell in zip(names, row, strict=False)
        if name
    )
    return (0, ()) if is_value else (n_rows, names)


def _is_number(text: str) -> bool:
    return bool(text) and not any(character.isalpha() for character in text)
