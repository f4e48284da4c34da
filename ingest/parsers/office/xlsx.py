"""Workbooks: one page per sheet, with its name as a heading and its rows as lines of tables."""

import datetime
import io
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, repeat
from typing import Any, Final

from openpyxl.reader.excel import ExcelReader

from ingest.parsers.office.links import workbook_title
from ingest.parsers.office.normal_package import open_package
from ingest.parsers.office.number_formats import format_day, format_duration, format_number, format_text
from ingest.parsers.office.package import check_for_library, core_properties, read_part
from ingest.parsers.office.sheet_extras import SheetExtras
from ingest.parsers.outline_writer import OutlineWriter
from ingest.parsers.types import FileType, Outline


class WorkbookReader(ExcelReader):
    """A reader of values, or of formulas, that opens each sheet once.

    openpyxl searches a sheet for its dimensions each time that it is listed.
    """

    def __init__(self, content: bytes, *, data_only: bool) -> None:
        super().__init__(io.BytesIO(content), read_only=True, data_only=data_only, keep_links=False)
        #: positions in the list of sheets that repeat earlier ones, from 1
        self.repeated: list[int] = []

    def read_worksheets(self) -> None:
        """Open the sheets in order."""
        listed, parts = self.parser.sheets, set()
        self.parser.sheets = []
        for number, sheet in enumerate(listed, start=1):
            part = self.parser.rels[sheet.id].target if sheet.id else None
            if part is not None and part in parts:
                self.repeated.append(number)
            else:
                self.parser.sheets.append(sheet)
                parts.add(part)
        super().read_worksheets()


#: Excel's limit; openpyxl would count up to a row that claims a higher number
MAX_ROWS: Final = 1_048_576
MIDNIGHT: Final = datetime.time()
#: a character that XML can't hold, as `_x000D_`
ESCAPED: Final = re.compile("_x([0-9A-Fa-f]{4})_")
#: elements of a sheet that are read apart from its cells, whatever their prefix
MARKS: Final = re.compile(rb"<(?:\w{1,40}:)?(f|headerFooter)[ >]")


def parse_xlsx(content: bytes, file: FileType) -> Outline:
    """Return the readable text of a workbook in the order of its sheets, hidden ones included.

    A row is a line `a | b`; an empty row ends a table. Numbers are as their cells show them, dates ISO 8601,
    with what is shown where that names the month. Formulas show the value that was stored with them, else
    themselves. Comments, links, boxes of text, titles of charts, page headers and footers follow the rows.

    Raises:
        ParseRefused: see `open_package` and `check_for_library`.
    """
    content, archive = open_package(content, "xlsx")
    check_for_library(archive, as_tree=False)
    writer = OutlineWriter()
    names = _write_sheets(content, archive, writer, SheetExtras(archive, writer))
    stated, metadata = core_properties(archive)
    return writer.outline(title=workbook_title(stated, names, file), metadata=metadata)


def _write_sheets(
    content: bytes, archive: zipfile.ZipFile, writer: OutlineWriter, extras: SheetExtras
) -> list[str]:
    """Write a page for each sheet that repeats no other; return their names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about content that would be lost on saving
        reader, formulas = _read(content, data_only=True), None
        workbook = reader.wb
        if not workbook._sheets:
            raise ValueError("the library finds no sheets")
        for number, sheet in enumerate(workbook._sheets, start=1):
            writer.begin_page(number)
            writer.write_heading(sheet.title, 1)
            if not hasattr(sheet, "reset_dimensions"):
                continue  # a chart sheet
            part = sheet._worksheet_path
            marks = _marks(archive, part)
            if b"f" in marks:
                formulas = formulas or _read(content, data_only=False).wb
            _write_tables(_rows(sheet, formulas and formulas._sheets[number - 1]), writer)
            writer.write_block("list", extras.lines(part, has_edges=b"headerFooter" in marks))
        names: list[str] = workbook.sheetnames
        for number in reader.repeated:
            writer.omitted("repeated_parts", where=f"sheet {number}")
        for opened in filter(None, (workbook, formulas)):
            opened.close()
    return names


def _read(content: bytes, *, data_only: bool) -> Any:

    reader = WorkbookReader(content, data_only=data_only)
    reader.read()
    return reader


def _marks(archive: zipfile.ZipFile, part: str) -> set[bytes]:
    found: set[bytes] = set()
    read_part(archive, part, lambda piece: found.update(MARKS.findall(piece)))
    return found


def _write_tables(rows: Iterable[Sequence[str]], writer: OutlineWriter) -> None:
    """Write rows, each run between two empty ones as a table."""
    for is_table, run in groupby(rows, key=any):
        if is_table:
            writer.write_table(run)


def _rows(sheet: Any, formulas: Any | None) -> Iterator[list[str]]:
    """Yield the cells of the rows; one without a value shows its formula."""
    for each in filter(None, (sheet, formulas)):
        each.reset_dimensions()  # the dimensions stated in the file are often wrong
    written = repeat(()) if formulas is None else formulas.iter_rows(values_only=True)
    for count, (row, entered) in enumerate(zip(sheet.iter_rows(), written, strict=False)):
        if count >= MAX_ROWS:
            raise ValueError(f"a row of sheet {sheet.title!r} has a number over {MAX_ROWS}")
        yield [
            _format_cell(cell.value if cell.value is not None or not entered else entered[at], cell)
            for at, cell in enumerate(row)
        ]


def _format_cell(value: Any, cell: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        text = ESCAPED.sub(lambda found: chr(int(found[1], 16)), value) if "_x" in value else value
        return format_text(text, cell.number_format) if "@" in (cell.number_format or "") else text
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        code = cell.number_format
        shown = None if code == "General" else format_number(value, code)
        return str(value) if shown is None and isinstance(value, int) else shown or format(value, ".15g")
    if isinstance(value, datetime.timedelta):
        return format_duration(value, cell.number_format)
    if isinstance(value, datetime.date):
        is_day = not isinstance(value, datetime.datetime) or value.time() == MIDNIGHT
        day = format_day(value, cell.number_format or "")
        return f"{str(value)[: 10 if is_day else None]}{f' ({day})' if day else ''}"
    if isinstance(value, datetime.time):
        return value.isoformat()
    return getattr(value, "text", None) or ""  # a formula of several cells
