"""Writer of the outline of a document without lines of its own, block by block in reading order."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, zip_longest
from typing import Final

from ingest.parsers.decode import UNSAFE
from ingest.parsers.errors import ParseRefused
from ingest.parsers.titles import FIRST_LINE_CHARS
from ingest.parsers.types import Block, BlockKind, LineSpan, Outline, OutlineDraft, PageSpan
from search.documents.charset import REPLACEMENT

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


#: characters of a table's header above which each cell has the name of its column
MAX_HEADER_CHARS: Final = 300
#: successive empty cells of a row that are written; a sheet may leave out thousands
MAX_EMPTY_CELLS: Final = 8
#: characters of one document; a string that many cells share is written once per cell
MAX_CHARS: Final = 32 * 1024**2


class OutlineWriter(OutlineDraft):
    """Writer that separates blocks by a blank line; a wall stands before each page."""

    def __init__(self) -> None:
        super().__init__()
        self._page: PageSpan | None = None
        self._is_page_new = False
        self._chars = 0

    @property
    def first_words(self) -> str | None:
        """Return the beginning of the first line that is no heading, None without one."""
        spans = (block.span for block in self.blocks if block.kind != "heading")
        first = next((self.lines[span.start - 1].strip() for span in spans), "")
        return first[:FIRST_LINE_CHARS].rstrip() or None

    def begin_page(self, number: int) -> None:
        """Begin a page, slide or sheet, numbered from 1, that the next blocks stand on.

        Call it before the first block.
        """
        self._page = PageSpan(number)
        self._is_page_new = True

    def write_heading(self, text: str, level: int) -> None:
        """Write a heading on one line; nothing for an empty text."""
        text = one_line(text)
        if text:
            span = self._write([text])
            self.blocks.append(Block(kind="heading", span=span, text=text, level=min(6, max(1, level))))

    def write_block(self, kind: BlockKind, texts: Iterable[str]) -> None:
        """Write a block of items, rows or one paragraph, to be cut between `texts` where it is too long.

        Raises:
            ParseRefused: the document has more than MAX_CHARS characters (`too_large`).
        """
        lines: list[str] = []
        starts: list[int] = []
        for text in texts:
            self._chars += len(text)
            if self._chars > MAX_CHARS:
                raise too_much_text()
            text_lines = [line for line in map(_clean_line, text.splitlines()) if line]
            if text_lines:
                starts.append(len(lines))
                lines += text_lines
        if lines:
            span = self._write(lines)
            breaks = tuple(span.start + start for start in starts[1:])
            self.blocks.append(Block(kind=kind, span=span, breaks=breaks))

    def write_outline(self, outline: Outline) -> None:
        """Write the blocks of another document, and take over what it omits."""
        self.omissions.add(outline.omissions)
        for block in outline.blocks:
            if block.kind == "heading":
                self.write_heading(block.text, block.level)
            else:
                self.write_block(block.kind, outline.lines[block.span.start - 1 : block.span.end])

    def write_table(self, rows: Iterable[Sequence[str]]) -> None:
        """Write a table, one line per row; rows without text are left out.

        Where the header is too long for each chunk, the cells of each row have the names of their columns.
        """
        rows = iter(rows)
        first_rows = list(islice(rows, HEADER_ROWS))
        lines = list(map(row_line, first_rows))
        first, last = find_header(lines)
        if sum(map(len, lines[first - 1 : last])) <= MAX_HEADER_CHARS:
            self.write_block("table", chain(lines, map(row_line, rows)))
            return
        self.write_block("list", lines[:last])
        named = name_cells(column_names(first_rows[first - 1 : last]), chain(first_rows[last:], rows))
        self.write_block("list", chain.from_iterable(named))

    def _write(self, lines: Sequence[str]) -> LineSpan:
        if self.lines:
            self.lines.append("")
            self._add_origins(1)
        start = len(self.lines) + 1
        if self._is_page_new and start > 1:
            self.walls.append(start)
        self._is_page_new = False
        self.lines += lines
        self._add_origins(len(lines))
        return LineSpan(start, len(self.lines))

    def _add_origins(self, count: int) -> None:
        if self._page is not None:
            self.origins += [self._page] * count


class SectionWriter(OutlineDraft):
    """Writer of sections, whose lines name their lines in the file."""

    def add(self, title: str, span: LineSpan, facts: Iterable[tuple[str, LineSpan]]) -> None:
        """Write a section: its title, unless that is empty, then a line for each fact."""
        if self.lines:
            self._write("", self.origins[-1])
        if title := one_line(title):
            self._write(title, span)
            number = len(self.lines)
            self.blocks.append(Block(kind="heading", span=LineSpan(number, number), text=title, level=2))
        start = len(self.lines) + 1
        for text, place in facts:
            self._write(one_line(text), place)
        if len(self.lines) >= start:
            self.blocks.append(Block(kind="list", span=LineSpan(start, len(self.lines))))

    def _write(self, text: str, span: LineSpan) -> None:
        self.lines.append(text)
        self.origins.append(span)


def one_line(text: str) -> str:
    """Return `text` with white space collapsed, and without characters that a database can't store."""
    return UNSAFE.sub(REPLACEMENT, " ".join(text.split()))


def row_line(cells: Iterable[str]) -> str:
    """Return a row of a table as a line.

    Empty cells keep the columns apart, at most MAX_EMPTY_CELLS in a row; those at the end are left out.
    """
    texts: list[str] = []
    empty = 0
    for text in map(one_line, cells):
        empty = 0 if text else empty + 1
        if empty <= MAX_EMPTY_CELLS:
            texts.append(text)
    while texts and not texts[-1]:
        texts.pop()
    return CELL_BORDER.join(texts)


def too_much_text() -> ParseRefused:
    """Return the refusal of a document with more than MAX_CHARS characters."""
    limit = MAX_CHARS // 1024**2
    return ParseRefused("too_large", f"the file holds more text than the limit of {limit} million characters")


def _clean_line(line: str) -> str:
    return UNSAFE.sub(REPLACEMENT, line.rstrip())
