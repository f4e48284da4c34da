"""OpenDocument texts, workbooks and presentations, packed or flat (ISO/IEC 26300)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, Final

from ingest.parsers.decode import UNSAFE
from ingest.parsers.errors import ParseRefused
from ingest.parsers.office.numbering import write_number
from ingest.parsers.office.package import DAMAGE, check_for_library, normalise_date, open_office
from ingest.parsers.office.titles import FILE_NAME, sensible_title, workbook_title
from ingest.parsers.outline_writer import MAX_EMPTY_CELLS, OutlineWriter, one_line, row_line
from ingest.parsers.types import FileType, Outline
from search.documents.charset import REPLACEMENT

_URN: Final = "urn:oasis:names:tc:opendocument:xmlns"
OFFICE, TEXT, TABLE, DRAW, STYLE, SHOW, META, SVG = (
    f"{{{_URN}:{name}:1.0}}"
    for name in ("office", "text", "table", "drawing", "style", "presentation", "meta", "svg-compatible")
)
#: the parts that are read
PARTS: Final = ("content.xml", "styles.xml", "meta.xml")
DC: Final = "{http://purl.org/dc/elements/1.1/}"
PARAGRAPHS: Final = frozenset({f"{TEXT}p", f"{TEXT}h"})
SIGNS: Final = {f"{TEXT}tab": "\t", f"{TEXT}line-break": "\n"}
ROWS, CELLS = f"{TABLE}table-row", frozenset({f"{TABLE}table-cell", f"{TABLE}covered-table-cell"})
#: deleted text, lists of headings or words, and what is written apart from its paragraph
LEFT_OUT: Final = frozenset(
    {
        *(f"{TEXT}{name}" for name in ("tracked-changes", "note", "ruby-text", "index-title-template")),
        *(f"{TEXT}{name}-index" for name in ("alphabetical", "illustration", "table", "object", "user")),
        f"{TEXT}table-of-content",
        f"{OFFICE}annotation",
        f"{OFFICE}forms",
        f"{SVG}title",
        f"{SVG}desc",
        f"{DRAW}text-box",
    }
)
#: formats of numbers, by their names in Word
FORMS: Final = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
#: containers of blocks
SECTIONS: Final = frozenset({f"{TEXT}section", f"{TEXT}index-body", f"{DRAW}text-box", f"{DRAW}g"})
#: parts of a slide that repeat on every slide
FURNITURE: Final = frozenset({"date-time", "footer", "header", "page-number"})
#: rows and cells that one element repeats; a sheet ends with a million empty ones
MAX_REPEATED: Final = 1_000


def parse_odf(content: bytes, file: FileType) -> Outline:
    """Return the readable text of an OpenDocument file; slides and sheets are its pages.

    Comments follow their paragraph or sheet. Deleted text and tables of contents are left out. Notes and page
    headers and footers come last, each once.

    Raises:
        ParseRefused: see `open_office` and `check_for_library`; or it is no OpenDocument file (`wrong_type`).
    """
    roots = _read_roots(content)
    body = next(
        (root.find(f"{OFFICE}body") for root in roots if root.find(f"{OFFICE}body") is not None), None
    )
    if body is None or not len(body):
        raise ParseRefused("wrong_type", "the file holds no OpenDocument text, workbook or presentation")
    writer = OutlineWriter()
    reader = _Reader(writer, roots)
    names: list[str] = []
    match body[0].tag.removeprefix(OFFICE):
        case "spreadsheet":
            names = reader.read_sheets(body[0])
        case "presentation" | "drawing":
            names = reader.read_slides(body[0])
        case _:
            reader.read_text(body[0])
    title, metadata = _properties(roots)
    if body[0].tag == f"{OFFICE}spreadsheet":
        title = workbook_title(title, names, file)
    return Outline(
        lines=writer.lines,
        blocks=writer.blocks,
        origins=writer.origins,
        walls=writer.walls,
        title=title or next(filter(None, names), writer.first_words if names else reader.first_words),
        metadata=metadata,
    )


def _read_roots(content: bytes) -> list[Any]:
    """Return the roots of content, styles and properties; that of a flat file holds all of them."""
    from lxml import etree  # type: ignore[import-untyped]

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    if not content.startswith(b"PK"):
        if b"<!ENTITY" in content:
            raise ParseRefused("xml_entities", "its XML declares entities, which can hide a bomb")
        try:
            return [etree.fromstring(content, parser)]
        except etree.XMLSyntaxError as error:
            raise ParseRefused("damaged", f"the file is damaged or was cut off: {error}") from None
    archive = open_office(content, "odt")
    try:
        check_for_library(archive, as_tree=True, parts=PARTS)
        roots = [etree.fromstring(archive.read(PARTS[0]), parser)]
    except (*DAMAGE, etree.XMLSyntaxError) as error:
        raise ParseRefused("damaged", f"the file is damaged: its text can't be read ({error})") from None
    for part in PARTS[1:]:
        with suppress(*DAMAGE, etree.XMLSyntaxError):
            roots.append(etree.fromstring(archive.read(part), parser))
    return roots


def _properties(roots: Sequence[Any]) -> tuple[str | None, Mapping[str, str]]:
    meta = next((found for root in roots if (found := root.find(f"{OFFICE}meta")) is not None), None)

    def stated(*names: str) -> str:
        texts = () if meta is None else (meta.findtext(name) or "" for name in names)
        return UNSAFE.sub(REPLACEMENT, next((one_line(text)[:500] for text in texts if text.strip()), ""))

    metadata = {
        "author": stated(f"{META}initial-creator", f"{DC}creator"),
        "created": normalise_date(stated(f"{META}creation-date")),
        "modified": normalise_date(stated(f"{DC}date")),
    }
    return sensible_title(stated(f"{DC}title")), {name: text for name, text in metadata.items() if text}


class _Reader:
    """Reader that walks the body and writes its blocks."""

    def __init__(self, writer: OutlineWriter, roots: Sequence[Any]) -> None:
        self._writer = writer
        self._roots = roots
        self._notes: list[str] = []
        self._bases = {
            style.get(f"{STYLE}name"): style.get(f"{STYLE}parent-style-name")
            for root in roots
            for style in root.iter(f"{STYLE}style")
        }
        #: By list style and level, the format of its numbers and what surrounds them.
        self._numbers = {
            (style.get(f"{STYLE}name"), level.get(f"{TEXT}level")): level
            for root in roots
            for style in root.iter(f"{TEXT}list-style")
            for level in style.iterchildren(f"{TEXT}list-level-style-number")
        }
        self._outline = {
            level.get(f"{TEXT}level"): level
            for root in roots
            for level in root.iter(f"{TEXT}outline-level-style")
        }
        self._counts: list[int] = []
        #: The beginning of a text without headings.
        self.first_words: str | None = None
        self._top_level = 1

    def read_text(self, body: Any) -> None:
        """Write a text, its notes, and its page headers and footers."""
        # the document's title is one level above its first headings
        self._top_level = 1 + any(self._is_title(each) for each in body.iterchildren(f"{TEXT}p"))
        self._write_blocks(body)
        if not any(block.kind == "heading" for block in self._writer.blocks):
            self.first_words = self._writer.first_words
        if self._notes:
            self._writer.write_heading("Notes", self._top_level)
            self._writer.write_block("list", self._notes)
        edges = dict.fromkeys(filter(None, self._edges()))
        if edges:
            self._writer.write_heading("Headers and footers", self._top_level)
            self._writer.write_block("list", edges)

    def read_sheets(self, body: Any) -> list[str]:
        """Write a page for each sheet, and return their names."""
        names = []
        for number, sheet in enumerate(body.iterchildren(f"{TABLE}table"), start=1):
            names.append(one_line(sheet.get(f"{TABLE}name") or ""))
            self._writer.begin_page(number)
            self._writer.write_heading(names[-1] or f"Sheet {number}", 1)
            for is_table, rows in groupby((row_line(cells) for cells in _rows(sheet)), key=bool):
                if is_table:
                    self._writer.write_block("table", rows)
            self._writer.write_block("list", self._apart(sheet))
        return names

    def read_slides(self, body: Any) -> list[str]:
        """Write a page for each slide, and return their titles."""
        titles = []
        for number, slide in enumerate(body.iterchildren(f"{DRAW}page"), start=1):
            self._writer.begin_page(number)
            shapes = sorted(slide.iterchildren(), key=_place)
            named = next((each for each in shapes if each.get(f"{SHOW}class") == "title"), None)
            titles.append("" if named is None else _all_text(named))
            self._writer.write_heading(titles[-1] or f"Slide {number}", 1)
            for shape in shapes:
                if shape.tag == f"{SHOW}notes":
                    frames = shape.iterchildren(f"{DRAW}frame")
                    written = (each for each in frames if each.get(f"{SHOW}class") not in FURNITURE)
                    notes = " ".join(filter(None, map(_all_text, written)))
                    self._writer.write_block("paragraph", [f"Notes: {notes}"] if notes else [])
                elif shape is not named and shape.get(f"{SHOW}class") not in FURNITURE:
                    self._write_blocks(shape)
                    self._writer.write_block("paragraph", _descriptions(shape))
        return titles

    def _write_blocks(self, container: Any) -> None:
        for element in container.iterchildren():
            tag = element.tag
            if tag == f"{TEXT}h" or (tag == f"{TEXT}p" and self._is_title(element)):
                stated = element.get(f"{TEXT}outline-level") or "1"
                depth = int(stated) if stated in "123456" else 6
                if tag == f"{TEXT}p":
                    self._writer.write_heading(_text(element), 1)
                elif text := _text(element).strip():
                    label = self._outline_label(depth)
                    text = f"{label} {text}" if label else text
                    self._writer.write_heading(text, self._top_level - 1 + depth)
            elif tag == f"{TEXT}p":
                self._writer.write_block("paragraph", [_text(element)])
            elif tag == f"{TEXT}list" and next(element.iter(f"{TEXT}h"), None) is not None:
                for item in element.iterchildren():  # numbered headings
                    self._write_blocks(item)
                continue
            elif tag == f"{TEXT}list":
                self._writer.write_block("list", self._items(element, element.get(f"{TEXT}style-name"), 1))
            elif tag == f"{TABLE}table":
                self._writer.write_table(_rows(element))
            elif tag in SECTIONS or tag == f"{DRAW}frame":
                self._write_blocks(element)
                continue
            else:
                continue
            self._writer.write_block("paragraph", self._apart(element))
            self._notes += [_all_text(note) for note in element.iter(f"{TEXT}note-body")]
            for shape in element.iter():
                if isinstance(shape.tag, str) and shape.tag.startswith(DRAW):
                    self._write_blocks(shape)

    def _apart(self, element: Any) -> Iterator[str]:
        """Yield the comments in a block, and the descriptions of its pictures."""
        for comment in element.iter(f"{OFFICE}annotation"):
            author = one_line(comment.findtext(f"{DC}creator") or "")
            if text := _all_text(comment):
                yield f"Comment by {author}: {text}" if author else f"Comment: {text}"
        yield from _descriptions(element)

    def _items(self, container: Any, style: str | None, level: int) -> Iterator[str]:
        drawn = self._numbers.get((style, str(level)))
        form = "" if drawn is None else drawn.get(f"{STYLE}num-format") or ""
        number = int(_number(drawn, f"{TEXT}start-value", 1)) - 1 if drawn is not None else 0
        for item in container.iterchildren(f"{TEXT}list-item", f"{TEXT}list-header"):
            number += item.tag == f"{TEXT}list-item"
            label = "-"
            if drawn is not None and form:
                before, after = (drawn.get(f"{STYLE}num-{name}") or "" for name in ("prefix", "suffix"))
                label = f"{before}{write_number(number, FORMS.get(form, ''))}{after}"
            for child in item.iterchildren():
                if child.tag == f"{TEXT}list":
                    yield from self._items(child, child.get(f"{TEXT}style-name") or style, level + 1)
                elif text := one_line(_text(child)):
                    yield f"{'  ' * min(level - 1, 8)}{label} {text}"

    def _outline_label(self, depth: int) -> str:
        """Count a heading, and return its number, '' without one."""
        self._counts = [*self._counts[:depth], *[0] * (depth - len(self._counts))]
        self._counts[depth - 1] += 1
        level = self._outline.get(str(depth))
        form = "" if level is None else level.get(f"{STYLE}num-format") or ""
        if level is None or not form:
            return ""
        shown = self._counts[-min(depth, _number(level, f"{TEXT}display-levels", 1)) :]
        numbers = ".".join(write_number(max(1, number), FORMS.get(form, "")) for number in shown)
        before, after = (level.get(f"{STYLE}num-{name}") or "" for name in ("prefix", "suffix"))
        return f"{before}{numbers}{after}"

    def _is_title(self, paragraph: Any) -> bool:
        style: str | None = paragraph.get(f"{TEXT}style-name")
        for _ in range(10):
            if style in (None, "Title"):
                break
            style = self._bases.get(style)
        return style == "Title"

    def _edges(self) -> Iterator[str]:
        for root in self._roots:
            for page in root.iter(f"{STYLE}master-page"):
                for edge in page.iterchildren():
                    if edge.tag.startswith((f"{STYLE}header", f"{STYLE}footer")):
                        named = (each for each in edge.iter(*PARAGRAPHS) if not _has_page_number(each))
                        yield " ".join(filter(None, (one_line(_text(each)) for each in named)))


def _has_page_number(paragraph: Any) -> bool:
    return bool(paragraph.xpath("boolean(.//*[local-name()='page-number'])"))


def _text(element: Any) -> str:
    pieces = [element.text or ""]
    for child in element.iterchildren():
        tag = child.tag
        if tag == f"{TEXT}s":
            pieces.append(" " * min(100, _number(child, f"{TEXT}c", 1)))
        elif tag in SIGNS:
            pieces.append(SIGNS[tag])
        elif isinstance(tag, str) and tag not in LEFT_OUT and tag not in PARAGRAPHS:
            pieces.append(_text(child))
        pieces.append(child.tail or "")
    return "".join(pieces)


def _all_text(element: Any) -> str:
    """Return the text of all paragraphs on one line."""
    return " ".join(filter(None, (one_line(_text(each)) for each in element.iter(*PARAGRAPHS))))


def _descriptions(element: Any) -> Iterator[str]:
    for described in element.iter(f"{SVG}desc", f"{SVG}title"):
        text = one_line(described.text or "")
        if text and FILE_NAME.fullmatch(text) is None:
            yield f"[{text}]"


def _rows(table: Any) -> Iterator[list[str]]:
    for row in _row_elements(table):
        cells: list[str] = []
        for cell in row.iterchildren(*CELLS):
            text = _all_text(cell) or cell.get(f"{TABLE}formula") or ""
            most = MAX_REPEATED if text else MAX_EMPTY_CELLS
            cells += [text] * min(most, _number(cell, f"{TABLE}number-columns-repeated", 1))
        repeated = _number(row, f"{TABLE}number-rows-repeated", 1) if any(cells) else 1
        for _ in range(min(MAX_REPEATED, repeated)):
            yield cells


def _row_elements(container: Any) -> Iterator[Any]:
    for child in container.iterchildren():
        if child.tag == ROWS:
            yield child
        elif isinstance(child.tag, str) and child.tag.startswith(f"{TABLE}table-") and child.tag != ROWS:
            yield from _row_elements(child)


def _place(shape: Any) -> tuple[float, float]:
    """Return the key of the reading order: rows of a centimetre from the top, and in each from the left."""
    return _centimetres(shape, "y") // 1, _centimetres(shape, "x")


def _centimetres(shape: Any, name: str) -> float:
    text = shape.get(f"{SVG}{name}") or ""
    with suppress(ValueError):
        return float(text[:-2]) * {"in": 2.54, "mm": 0.1, "pt": 0.0353}.get(text[-2:], 1.0)
    return 0.0


def _number(element: Any, name: str, default: int) -> int:
    text = element.get(name) or ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else default
