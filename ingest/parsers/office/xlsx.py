"""Workbooks: one page per sheet, with its name as a heading and its rows as lines of tables."""

import datetime
import io
import warnings
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Final

from ingest.parsers.office.package import check_for_library, core_properties, open_office
from ingest.parsers.office.titles import workbook_title
from ingest.parsers.outline_writer import OutlineWriter, row_line
from ingest.parsers.types import FileType, Outline

#: Excel's limit; openpyxl would count up to a row that claims a higher number
MAX_ROWS: Final = 1_048_576
MIDNIGHT: Final = datetime.time()


def parse_xlsx(content: bytes, file: FileType) -> Outline:
    """Return the readable text of a workbook in the order of its sheets, hidden ones included.

    A row is a line `a | b`; an empty row ends a table. Formulas show the value that was stored with
    them; dates are ISO 8601, numbers as stored, not as formatted.

    Raises:
        ParseRefused: see `open_office` and `check_for_library`.
    """
    archive = open_office(content, "xlsx")
    check_for_library(archive, as_tree=False)
    writer = OutlineWriter()
    names = _write_sheets(content, writer)
    properties = core_properties(archive)
    return Outline(
        lines=writer.lines,
        blocks=writer.blocks,
        origins=writer.origins,
        walls=writer.walls,
        title=workbook_title(properties.title, names, file),
        metadata=properties.metadata,
    )


def _write_sheets(content: bytes, writer: OutlineWriter) -> list[str]:
    """Write a page for each sheet, and return their names."""
    from openpyxl import load_workbook

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about content that would be lost on saving
        workbook = load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
        for number, name in enumerate(workbook.sheetnames, start=1):
            writer.begin_page(number)
            writer.write_heading(name, 1)
            _write_tables(_rows(workbook[name]), writer)
        names: list[str] = workbook.sheetnames
        workbook.close()
    return names


def _write_tables(rows: Iterable[str], writer: OutlineWriter) -> None:
    """Write rows, each run between two empty ones as a table."""
    for is_table, run in groupby(rows, key=bool):
        if is_table:
            writer.write_block("table", run)


def _rows(sheet: Any) -> Iterator[str]:
    """Yield the lines of the rows, empty for empty rows; none for a chart sheet."""
    if not hasattr(sheet, "reset_dimensions"):
        return
    sheet.reset_dimensions()  # the dimensions stated in the file are often wrong
    for count, row in enumerate(sheet.iter_rows(values_only=True)):
        if count >= MAX_ROWS:
            raise ValueError(f"a row of sheet {sheet.title!r} has a number over {MAX_ROWS}")
        yield row_line(map(_format_cell, row))


def _format_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return format(value, ".15g")  # Excel's precision
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == MIDNIGHT else value.isoformat(" ")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value)
