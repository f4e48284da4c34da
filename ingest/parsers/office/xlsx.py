"""Workbooks: one page per sheet, with its name as a heading and its rows as lines of tables."""

import datetime
import io
import re
import warnings
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import groupby, repeat
from typing import Any, Final

from openpyxl.reader.excel import ExcelReader

from ingest.parsers.office.docx import BESIDE_PAGE
from ingest.parsers.office.drawings import (
    CHART,
    CHECKED,
    COMPATIBILITY,
    DIAGRAM,
    DRAWING,
    UNCHECKED,
    diagram_texts,
    drawn_text,
)
from ingest.parsers.office.links import EMBEDDED, described, embedded_line, workbook_title
from ingest.parsers.office.normal_package import open_package
from ingest.parsers.office.number_formats import format_day, format_duration, format_number, format_text
from ingest.parsers.office.package import (
    DAMAGE,
    Relation,
    check_for_library,
    core_properties,
    read_part,
    relations,
    safe_parser,
)
from ingest.parsers.outline_writer import OutlineWriter, one_line
from ingest.parsers.types import FileType, Outline

_MAIN: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_THREADED: Final = "{http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments}"
_PLACED: Final = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
_RELATION_ID: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships id"
_VML: Final = "{urn:schemas-microsoft-com:vml}"
_CONTROL: Final = "{urn:schemas-microsoft-com:office:excel}"
#: codes of page headers and footers (section 18.3.1.39): fonts, colours, sizes, else a value or a place
_EDGE_CODE: Final = re.compile(r'&(?:"[^"]*"|K[0-9A-Fa-f+-]{6}|\d{1,3}|([A-Z&+-]))', re.IGNORECASE)
_OPEN_BREAK: Final = re.compile(rb"<br\s*>", re.IGNORECASE)
#: Lines of one sheet.
_MOST: Final = 5_000


class SheetExtras:
    """Reader of what stands beside the cells of sheets; a part that several share is read with the first."""

    def __init__(self, archive: zipfile.ZipFile, writer: OutlineWriter) -> None:
        self._writer = writer
        self._archive = archive
        self._read: set[str] = set()

    def lines(self, sheet: str, *, has_edges: bool) -> Iterator[str]:
        """Yield a line for each, as far as the parts can be read."""
        with suppress(*DAMAGE, SyntaxError):  # of lxml
            threaded = self._threaded(sheet)
            refs = {ref for ref, _ in threaded}
            yield from (line for ref, line in self._notes(sheet) if line and ref not in refs)
            yield from (line for _, line in threaded if line)
            related = self._related(sheet)
            if has_edges or any(each.type.endswith("/hyperlink") for each in related.values()):
                yield from _beside_cells(self._archive, sheet, related)
            controls = [line for part in self._parts(sheet, "/vmlDrawing") for line in self._controls(part)]
            yield from controls
            for drawing in self._parts(sheet, "/drawing"):
                yield from self._drawn_lines(
                    drawing, {line.strip(f"{CHECKED}{UNCHECKED} ") for line in controls}
                )
            for part in self._parts(sheet, *EMBEDDED):
                self._writer.omitted("embedded_files", where=part)
                yield embedded_line(part)

    def _related(self, part: str) -> Mapping[str, Relation]:
        with suppress(KeyError):
            return relations(self._archive, part)
        return {}

    def _parts(self, part: str, *kinds: str) -> Iterator[str]:
        """Yield the related parts of these kinds that were not read yet."""
        for type_, target, is_external in self._related(part).values():
            if type_.endswith(kinds) and not is_external and target not in self._read:
                self._read.add(target)
                yield target

    def _elements(self, part: str, *tags: str) -> Iterator[Any]:
        """Yield the elements of a part with these tags; each is emptied after its turn."""
        from lxml import etree  # type: ignore[import-untyped]  # lxml has no types

        with self._archive.open(part) as file:
            # Excel doesn't close the breaks of lines in VML
            source = io.BytesIO(_OPEN_BREAK.sub(b"<br/>", file.read())) if part.endswith(".vml") else file
            for _, element in etree.iterparse(source, tag=tags, resolve_entities=False, huge_tree=False):
                yield element
                element.clear()

    def _notes(self, sheet: str) -> list[tuple[str, str]]:
        notes = []
        for part in self._parts(sheet, "/comments"):
            authors: list[str] = []
            for element in self._elements(part, f"{_MAIN}author", f"{_MAIN}comment"):
                if element.tag == f"{_MAIN}author":
                    authors.append(element.text or "")
                    continue
                number = element.get("authorId") or ""
                author = authors[int(number)] if number.isdecimal() and int(number) < len(authors) else ""
                text = one_line("".join(each.text or "" for each in element.iter(f"{_MAIN}t")))
                text = text.removeprefix(f"{author}:").strip()
                ref = element.get("ref") or ""
                notes.append((ref, f"Note{_by(author)} on {ref}: {text}" if text else ""))
        return notes[:_MOST]

    @cached_property
    def _people(self) -> dict[str | None, str]:
        return {
            person.get("id"): person.get("displayName") or ""
            for part in self._archive.namelist()
            if part.startswith("xl/persons/") and part.endswith(".xml")
            for person in self._elements(part, f"{_THREADED}person")
        }

    def _threaded(self, sheet: str) -> list[tuple[str, str]]:
        return [
            (
                ref := comment.get("ref") or "",
                f"Comment{_by(self._people.get(comment.get('personId'), ''))} on {ref}: {text}",
            )
            for part in self._parts(sheet, "/threadedComment")
            for comment in self._elements(part, f"{_THREADED}threadedComment")
            if (text := one_line("".join(each.text or "" for each in comment.iter(f"{_THREADED}text"))))
        ][:_MOST]

    def _controls(self, part: str) -> Iterator[str]:
        """Yield the controls of a form with their labels, those that can be checked with their states."""
        for shape in self._elements(part, f"{_VML}shape"):
            control = shape.find(f"{_CONTROL}ClientData")
            kind = "" if control is None else control.get("ObjectType") or ""
            label = one_line(
                " ".join(text for box in shape.iter(f"{_VML}textbox") for text in box.itertext())
            )
            if kind in ("Checkbox", "Radio"):
                is_checked = control.findtext(f"{_CONTROL}Checked") == "1"
                yield f"{CHECKED if is_checked else UNCHECKED} {label}"
            elif label and kind != "Note":
                yield label

    def _drawn_lines(self, drawing: str, labels: Collection[str]) -> Iterator[str]:
        """Yield what is read of a drawing, but for the `labels` of controls."""
        for element in self._elements(drawing, f"{_PLACED}cNvPr", f"{_PLACED}txBody"):
            if text := described(element.get("descr")):
                yield text
            is_repeated = any(element.iterancestors(f"{COMPATIBILITY}Fallback"))
            text = "" if is_repeated else drawn_text(element)
            if text and text not in labels:
                yield text
        for diagram in self._parts(drawing, "/diagramData"):
            for model in self._elements(diagram, f"{DIAGRAM}dataModel"):
                yield from diagram_texts(model)
        for chart in self._parts(drawing, "/chart"):
            for title in self._elements(chart, f"{CHART}title"):
                if text := one_line("".join(each.text or "" for each in title.iter(f"{DRAWING}t"))):
                    yield f"Chart: {text}"


def _by(author: str) -> str:
    return f" by {one_line(author)}" if author.strip() else ""


def _beside_cells(archive: zipfile.ZipFile, sheet: str, related: Mapping[str, Relation]) -> Iterator[str]:
    """Yield links out of the file, then page headers and footers; a sheet may be large, so it is streamed."""
    links: list[tuple[str, str]] = []
    edges: list[tuple[str, list[str]]] = []
    is_edge = False

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal is_edge
        local = name.rpartition(" ")[2]
        is_edge = local.endswith(("Header", "Footer")) and len(edges) < _MOST
        if local == "hyperlink" and len(links) < _MOST:
            links.append((attributes.get("ref", ""), attributes.get(_RELATION_ID, "")))
        elif is_edge:
            edges.append((local[-6:], []))

    def gather(text: str) -> None:
        if is_edge:
            edges[-1][1].append(text)

    parser = safe_parser()
    parser.StartElementHandler = start
    parser.CharacterDataHandler = gather
    read_part(archive, sheet, parser.Parse)
    for ref, id_ in links:
        target = one_line(related[id_].target) if id_ in related else ""
        if target and not target.startswith("#"):
            yield f"Link in {ref}: {target}"
    yield from dict.fromkeys(
        f"{name}: {text}" for name, texts in edges if (text := _edge_text("".join(texts)))
    )


def _edge_text(stated: str) -> str:
    """Return the text of a page header or footer, '' if it is no more than the number of the page."""
    text = one_line(_EDGE_CODE.sub(lambda code: "&" if code[1] == "&" else " ", stated))
    return "" if BESIDE_PAGE.fullmatch(text) else text


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
