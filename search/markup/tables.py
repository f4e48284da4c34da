"""Tables as text: their cells in order, with a separator between them."""

import csv
import re

from search.retrieval.text.plain_text import SEPARATOR

_BETWEEN = f" {SEPARATOR} "
# Successive lines with a border between columns, or a single one that begins with it.
_TABLE = re.compile(r"(?:\n[^\n|]*\|[^\n]*){2,}|\n[ \t]*+\|[^\n]*")
_ROWS = re.compile(r"(?:\n[^\n|]*\|[^\n]*)+")
_BORDER = " \t:-=+"
_SIMPLE_BORDER = re.compile(r"\n[ \t]*+=+(?: +=+)+[ \t]*(?=\n|\Z)")
_COLUMN_GAP = re.compile(r" {2,}")


def join_cells(text: str, *, are_all_rows: bool = False) -> str:
    """Return `text` with the cells of tables that have `|` between columns joined by SEPARATOR.

    `are_all_rows`: each line with a `|` is a row, also one by itself.
    """
    return (_ROWS if are_all_rows else _TABLE).sub(_join_rows, text)


def join_simple_cells(text: str) -> str:
    """Return `text` with the cells of tables that have blanks between columns, as of RST, joined as well."""
    borders = list(_SIMPLE_BORDER.finditer(text)) if "==" in text else []
    if not borders:
        return text
    rows = text[borders[0].end() : borders[-1].start()].split("\n")
    table = _BETWEEN.join(_COLUMN_GAP.sub(_BETWEEN, row.strip()) for row in rows if row.strip(_BORDER))
    return f"{text[: borders[0].start()]}\n\n{table}\n\n{text[borders[-1].end() :]}"


def join_separated_values(text: str) -> str:
    """Return the cells of records of a CSV or TSV file joined by SEPARATOR."""
    first = text.partition("\n")[0]
    delimiter = next((one for one in "\t;|" if one in first), ",")
    records = csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
    return _BETWEEN.join(cell for record in records for cell in record if cell.strip())


def _join_rows(table: re.Match[str]) -> str:
    cells = table[0].replace("\n", "|").split("|")
    return f"\n\n{_BETWEEN.join(cell for cell in cells if cell.strip(_BORDER))}\n\n"
