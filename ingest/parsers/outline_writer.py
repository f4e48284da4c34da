"""Writer of the outline of a document without lines of its own, block by block in reading order."""

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Final

from ingest.parsers.decode import UNSAFE
from ingest.parsers.errors import ParseRefused
from ingest.parsers.table_header import (
    CELL_BORDER,
    HEADER_ROWS,
    column_names,
    find_header,
    name_cells,
)
from ingest.parsers.titles import FIRST_LINE_CHARS
from ingest.parsers.types import Block, BlockKind, LineSpan, Outline, OutlineDraft, PageSpan
from search.documents.charset import REPLACEMENT

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
