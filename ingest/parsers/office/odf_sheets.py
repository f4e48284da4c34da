"""Sheets of OpenDocument workbooks: rows as they are shown, and what stands beside the cells."""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from ingest.parsers.office.odf_flow import (
    MAX_REPEATED,
    LoadObject,
    add_cell,
    cell_elements,
    chart_titles,
    row_elements,
)
from ingest.parsers.office.odf_text import (
    ANNOTATION,
    FRAME,
    HREF,
    OBJECT,
    OFFICE,
    TABLE,
    TABLES,
    TEXT,
    all_text,
    attribute_number,
    comment_text,
    description,
)
from ingest.parsers.outline_writer import OutlineWriter, one_line

_FORMULA: Final = re.compile(r"\w+:(?==)")
_REFERENCE: Final = re.compile(r"\[([^\]]*)\]")
_VALUES: Final = ("string-value", "value", "boolean-value", "time-value")
#: lines beside one sheet
_MOST: Final = 5_000


def write_sheets(body: Any, writer: OutlineWriter, load_object: LoadObject) -> list[str]:
    """Write a page for each sheet, and return their names."""
    names = []
    for number, sheet in enumerate(body.iterchildren(TABLES), start=1):
        names.append(one_line(sheet.get(f"{TABLE}name") or ""))
        writer.begin_page(number)
        writer.write_heading(names[-1] or f"Sheet {number}", 1)
        beside: list[str] = []
        for is_table, rows in groupby(_rows(sheet, beside), key=any):
            if is_table:
                writer.write_table(rows)
        writer.write_block("list", beside)
        writer.write_block("list", _drawn(sheet, load_object))
    return names


def _rows(sheet: Any, beside: list[str]) -> Iterator[list[str]]:
    """Yield the cells of the rows; add comments and links to `beside`."""
    number = 1
    for row in row_elements(sheet):
        cells: list[str] = []
        column = 1
        for cell, times in cell_elements(row):
            if len(cell):
                beside += list(_beside(cell, f"{_letters(column)}{number}"))[: _MOST - len(beside)]
            add_cell(cells, _cell_text(cell), times)
            column += times
        times = max(1, attribute_number(row, f"{TABLE}number-rows-repeated", 1))
        number += times
        for _ in range(min(MAX_REPEATED if any(cells) else 1, times)):
            yield cells


def _cell_text(cell: Any) -> str:
    """Return a cell as it is shown, a date in ISO 8601, too, and a formula without a value as itself."""
    if cell.get(f"{OFFICE}value-type") == "date":
        stated = (cell.get(f"{OFFICE}date-value") or "").removesuffix("T00:00:00").replace("T", " ")
        shown = all_text(cell)
        return f"{stated} ({shown})" if any(map(str.isalpha, shown)) else stated
    if text := all_text(cell):
        return text
    if value := next(filter(None, (cell.get(f"{OFFICE}{name}") for name in _VALUES)), ""):
        return value
    formula = _FORMULA.sub("", cell.get(f"{TABLE}formula") or "", count=1)
    return _REFERENCE.sub(lambda found: found[1].replace(".", ""), formula) if formula else ""


def _beside(cell: Any, place: str) -> Iterator[str]:
    for comment in cell.iterchildren(ANNOTATION):
        if text := comment_text(comment, place):
            yield text
    for link in cell.iter(f"{TEXT}a"):
        target = one_line(link.get(HREF) or "")
        if target and not target.startswith("#") and target != one_line("".join(link.itertext())):
            yield f"Link in {place}: {target}"


def _drawn(sheet: Any, load_object: LoadObject) -> Iterator[str]:
    """Yield the descriptions of pictures, and the titles of charts."""
    for frame in sheet.iter(FRAME):
        if described := description(frame):
            yield described
        for element in frame.iterchildren(OBJECT):
            root = next(element.iterchildren(), None)
            root = load_object(element.get(HREF) or "") if root is None else root
            yield from (f"Chart: {title}" for title in (() if root is None else chart_titles(root)))


def _letters(column: int) -> str:
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
