"""OpenDocument texts, workbooks, presentations and drawings, packed or flat (ISO/IEC 26300)."""

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, Final

from ingest.parsers.decode import UNSAFE
from ingest.parsers.errors import ParseRefused
from ingest.parsers.office.docx import BESIDE_PAGE
from ingest.parsers.office.links import sensible_title, workbook_title
from ingest.parsers.office.odf_flow import (
    MAX_REPEATED,
    FlowWriter,
    LoadObject,
    add_cell,
    cell_elements,
    chart_titles,
    row_elements,
)
from ingest.parsers.office.odf_text import (
    ANNOTATION,
    DC,
    DRAW,
    FRAME,
    GROUP,
    HEADING,
    HREF,
    META,
    OBJECT,
    OFFICE,
    PAGE_NUMBERS,
    PARAGRAPH,
    SHOW,
    STYLE,
    SVG,
    TABLE,
    TABLES,
    TEXT,
    all_text,
    attribute_number,
    comment_text,
    description,
    paragraph_text,
)
from ingest.parsers.office.package import DAMAGE, check_for_library, open_office
from ingest.parsers.outline_writer import OutlineWriter, one_line
from ingest.parsers.stated_metadata import stated_metadata
from ingest.parsers.types import FileType, Outline
from search.documents.charset import REPLACEMENT

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


#: the parts that are read
PARTS: Final = ("content.xml", "styles.xml", "meta.xml")
#: size of an embedded chart or equation that is read
MAX_OBJECT_BYTES: Final = 8 * 1024**2
#: parts of a slide that repeat on every slide
FURNITURE: Final = frozenset({"date-time", "footer", "header", "page-number"})


def parse_odf(content: bytes, file: FileType) -> Outline:
    """Return the readable text of an OpenDocument file; slides and sheets are its pages.

    Comments follow their paragraph or sheet. Deleted text and tables of contents are left out. Notes and page
    headers and footers come last, each once.

    Raises:
        ParseRefused: see `open_office`; or its XML is too large (`too_large`) or no document (`wrong_type`).
    """
    package = _Package(content)
    roots = package.roots
    body = next((found for root in roots if (found := root.find(f"{OFFICE}body")) is not None), None)
    if body is None or not len(body):
        raise ParseRefused("wrong_type", "the file holds no OpenDocument text, workbook or presentation")
    writer = OutlineWriter()
    title, metadata = _properties(roots)
    flow = FlowWriter(writer, roots, package.load_object)
    match body[0].tag.removeprefix(OFFICE):
        case "spreadsheet":
            title = workbook_title(title, write_sheets(body[0], writer, package.load_object), file)
        case "presentation" | "drawing":
            titles = [*_slide_titles(body[0], writer, flow)]
            title = title or next(filter(None, titles), writer.first_words)
        case _:
            stated = _write_text(body[0], roots, writer, flow)
            title = title or stated
    for root in roots:
        for change in root.iter(f"{TEXT}deletion"):
            writer.omitted("deleted_text", len(all_text(change)))
        for embedded in root.iter(f"{DRAW}object-ole"):
            writer.omitted("embedded_files", where=embedded.get(HREF) or "")
    for part in package.unread:
        writer.omitted("unreadable_parts", where=part)
    return writer.outline(title=title, metadata=metadata)


class _Package:
    """The parts of a file; a flat one has one root with all of them."""

    def __init__(self, content: bytes) -> None:
        from lxml import etree  # type: ignore[import-untyped]  # lxml has no types

        self._parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
        )
        self._errors = (*DAMAGE, etree.XMLSyntaxError)
        self._parse = etree.fromstring
        self._archive: zipfile.ZipFile | None = None
        self._loaded: set[str] = set()
        #: objects that could not be read
        self.unread: list[str] = []
        if content.startswith(b"PK"):
            self._archive = open_office(content, "odt")
            self.roots = self._read_parts(self._archive)
        else:
            self.roots = [self._read_flat(content)]

    def load_object(self, address: str) -> Any | None:
        """Return the root of an embedded chart or equation, None if it was loaded before.

        None also if it can't be read or is large.
        """
        part = f"{address.removeprefix('./').rstrip('/')}/{PARTS[0]}"
        if part in self._loaded:
            return None
        self._loaded.add(part)
        with suppress(*self._errors):
            if self._archive is not None and self._archive.getinfo(part).file_size <= MAX_OBJECT_BYTES:
                check_for_library(self._archive, as_tree=True, parts=(part,))
                return self._parse(self._archive.read(part), self._parser)
        self.unread.append(part)
        return None

    def _read_flat(self, content: bytes) -> Any:
        if b"<!ENTITY" in content:
            raise ParseRefused("xml_entities", "its XML declares entities, which can hide a bomb")
        try:
            return self._parse(content, self._parser)
        except self._errors as error:
            raise ParseRefused("damaged", f"the file is damaged or was cut off: {error}") from None

    def _read_parts(self, archive: zipfile.ZipFile) -> list[Any]:
        try:
            check_for_library(archive, as_tree=True, parts=PARTS)
        except ValueError as error:
            raise ParseRefused("too_large", f"{error}: split the file into several") from None
        except self._errors as error:
            raise _damaged(error) from None
        try:
            roots = [self._parse(archive.read(PARTS[0]), self._parser)]
        except self._errors as error:
            raise _damaged(error) from None
        for part in PARTS[1:]:
            with suppress(*self._errors):
                roots.append(self._parse(archive.read(part), self._parser))
        return roots


def _damaged(error: Exception) -> ParseRefused:
    return ParseRefused("damaged", f"the file is damaged: its text can't be read ({error})")


def _properties(roots: Sequence[Any]) -> tuple[str | None, Mapping[str, str]]:
    meta = next((found for root in roots if (found := root.find(f"{OFFICE}meta")) is not None), None)

    def stated(*names: str) -> str:
        texts = () if meta is None else (meta.findtext(name) or "" for name in names)
        return UNSAFE.sub(REPLACEMENT, next((one_line(text)[:500] for text in texts if text.strip()), ""))

    return sensible_title(stated(f"{DC}title")), stated_metadata(
        {
            "author": stated(f"{META}initial-creator", f"{DC}creator"),
            "created": stated(f"{META}creation-date"),
            "modified": stated(f"{DC}date"),
        }
    )


def _write_text(body: Any, roots: Sequence[Any], writer: OutlineWriter, flow: FlowWriter) -> str | None:
    """Write a text, its notes, and page headers and footers; return its first words if it has no heading."""
    flow.top_level += any(flow.is_title(each) for each in body.iterchildren(PARAGRAPH, HEADING))
    for element in body.iterchildren():
        flow.write(element)
    has_heading = any(block.kind == "heading" for block in writer.blocks)
    first_words = None if has_heading else writer.first_words
    for name, lines in (
        ("Notes", flow.notes),
        ("Headers and footers", list(dict.fromkeys(filter(None, _edges(roots))))),
    ):
        if lines:
            writer.write_heading(name, flow.top_level)
            writer.write_block("list", lines)
    return first_words


def _edges(roots: Sequence[Any]) -> Iterator[str]:
    for root in roots:
        for page in root.iter(f"{STYLE}master-page"):
            for edge in page.iterchildren():
                if edge.tag.startswith((f"{STYLE}header", f"{STYLE}footer")):
                    texts = (
                        one_line(paragraph_text(each))
                        for each in edge.iter(PARAGRAPH, HEADING)
                        if not _is_page_number(each)
                    )
                    yield " ".join(filter(None, texts))


def _is_page_number(paragraph: Any) -> bool:
    """Return whether a paragraph is no more than the number of the page."""
    has_number = next(paragraph.iter(*PAGE_NUMBERS), None) is not None
    return has_number and BESIDE_PAGE.fullmatch(one_line(paragraph_text(paragraph))) is not None


def _slide_titles(body: Any, writer: OutlineWriter, flow: FlowWriter) -> Iterator[str]:
    """Write a page for each slide, and yield its title."""
    for number, slide in enumerate(body.iterchildren(f"{DRAW}page"), start=1):
        writer.begin_page(number)
        shapes = sorted(slide.iterchildren(), key=_place)
        named = next((each for each in shapes if each.get(f"{SHOW}class") == "title"), None)
        title = "" if named is None else all_text(named)
        writer.write_heading(title or f"Slide {number}", 1)
        for shape in shapes:
            if shape is not named and shape.tag != f"{SHOW}notes":
                _write_shape(shape, writer, flow)
        for notes in slide.iterchildren(f"{SHOW}notes"):
            texts = (all_text(each) for each in notes if each.get(f"{SHOW}class") not in FURNITURE)
            if text := " ".join(filter(None, texts)):
                writer.write_block("paragraph", [f"Notes: {text}"])
        yield title


def _write_shape(shape: Any, writer: OutlineWriter, flow: FlowWriter) -> None:
    if shape.tag == GROUP:
        for inner in sorted(shape.iterchildren(), key=_place):
            _write_shape(inner, writer, flow)
        writer.write_block("paragraph", [description(shape)])
    elif shape.get(f"{SHOW}class") not in FURNITURE:
        flow.write_lines(shape)
    else:
        writer.omitted("repeated_lines", int(BESIDE_PAGE.fullmatch(all_text(shape)) is None))


def _place(shape: Any) -> tuple[bool, float, float]:
    """Return the key of the reading order: rows of a centimetre from the top, and in each from the left.

    A group stands where its first shape does; comments follow all shapes.
    """
    placed = next((each for each in shape.iter() if each.get(f"{SVG}y")), shape)
    return shape.tag == ANNOTATION, _centimetres(placed, "y") // 1, _centimetres(placed, "x")


def _centimetres(shape: Any, name: str) -> float:
    text = shape.get(f"{SVG}{name}") or ""
    with suppress(ValueError):
        return float(text[:-2]) * {"in": 2.54, "mm": 0.1, "pt": 0.0353}.get(text[-2:], 1.0)
    return 0.0
