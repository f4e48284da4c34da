"""Word documents: headings by style, paragraphs, lists, tables, text boxes and notes."""

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from ingest.parsers.office.package import check_for_library, core_properties, open_office
from ingest.parsers.office.titles import sensible_title
from ingest.parsers.outline_writer import OutlineWriter, one_line
from ingest.parsers.types import FileType, Outline

WORD: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
MATH: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
COMPATIBILITY: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
PARAGRAPH, TABLE, ROW, CELL, BOX = (f"{WORD}{name}" for name in ("p", "tbl", "tr", "tc", "txbxContent"))
FALLBACK: Final = f"{COMPATIBILITY}Fallback"
TEXT: Final = frozenset({f"{WORD}t", f"{MATH}t"})
SIGNS: Final = {f"{WORD}tab": "\t", f"{WORD}br": "\n", f"{WORD}cr": "\n", f"{WORD}noBreakHyphen": "-"}
#: deleted text, and content repeated for older programs
LEFT_OUT: Final = frozenset({*(f"{WORD}{name}" for name in ("pPr", "rPr", "del", "moveFrom")), BOX, FALLBACK})
WRAPPERS: Final = frozenset(
    {
        *(f"{WORD}{name}" for name in ("sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag")),
        *(f"{COMPATIBILITY}{name}" for name in ("AlternateContent", "Choice")),
    }
)
VARIANTS: Final = (
    "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
    "application/vnd.ms-word.document.macroEnabled.main+xml",
    "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
)
HEADING_NAME = re.compile(r"heading ([1-6])")
CONTENTS_NAME = re.compile(r"(?:toc|contents) (?:\d|heading)")
TITLE_LEVEL: Final = 0
MAX_STYLE_CHAIN: Final = 10
NOTE_PARTS: Final = ("/footnotes", "/endnotes")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParagraphRole:
    """The role of a paragraph: heading, list item, line of the table of contents or plain text."""

    #: 1 to 6, TITLE_LEVEL for the title, None for other paragraphs
    heading: int | None = None
    #: depth in its list from 0, None outside of one
    list_depth: int | None = None
    #: a line of the table of contents, which only repeats headings
    is_contents: bool = False


def parse_docx(content: bytes, file: FileType) -> Outline:
    """Return the readable text of a Word document; the lines are the outline's own, as the file has none.

    Text that was deleted under change tracking, comments, page headers and footers and the table of
    contents are left out. Footnotes and endnotes come last.

    Raises:
        ParseRefused: see `open_office` and `check_for_library`.
    """
    archive = open_office(content, "docx")
    check_for_library(archive, as_tree=True)
    document = _open_document(content)
    properties = core_properties(archive)
    writer = OutlineWriter()
    reader = _DocxReader(writer, _style_roles(document.styles.element))
    reader.read(document.element.body)
    reader.read_notes(document.part)
    return Outline(
        lines=writer.lines,
        blocks=writer.blocks,
        title=sensible_title(properties.title),
        metadata=properties.metadata,
    )


def _open_document(content: bytes) -> Any:
    """Open a document, template or file with macros: python-docx recognises documents by content type."""
    from docx.opc.part import PartFactory
    from docx.package import Package
    from docx.parts.document import DocumentPart

    for content_type in VARIANTS:
        PartFactory.part_type_for.setdefault(content_type, DocumentPart)
    return Package.open(io.BytesIO(content)).main_document_part.document


class _DocxReader:
    """Reader that walks the body and writes its blocks."""

    def __init__(self, writer: OutlineWriter, styles: Mapping[str, ParagraphRole]) -> None:
        self._writer = writer
        self._styles = styles
        self._top_level = 1

    def read(self, body: Any) -> None:
        """Write headings, paragraphs, lists and tables in their order."""
        # the document's title is one level above its first headings
        self._top_level = 1 + any(self._role(element).heading == TITLE_LEVEL for element in _blocks(body))
        elements = ((element, self._role(element)) for element in _blocks(body))
        for is_list, run in groupby(elements, key=lambda pair: pair[1].list_depth is not None):
            if is_list:
                self._write_list(list(run))
            else:
                for element, role in run:
                    self._write(element, role)

    def read_notes(self, part: Any) -> None:
        """Write footnotes and endnotes under a heading of their own."""
        from docx.oxml.parser import parse_xml

        notes = [
            " ".join(filter(None, (one_line(_text(paragraph)) for paragraph in note.iter(PARAGRAPH))))
            for relation in part.rels.values()
            if relation.reltype.endswith(NOTE_PARTS) and not relation.is_external
            for note in parse_xml(relation.target_part.blob).iterchildren()
        ]
        if any(notes):
            self._writer.write_heading("Notes", self._top_level)
            self._writer.write_block("list", notes)

    def _role(self, element: Any) -> ParagraphRole:
        """Return the role of a paragraph by its style and its own settings."""
        settings = element.find(f"{WORD}pPr") if element.tag == PARAGRAPH else None
        if settings is None:
            return ParagraphRole()
        styled = self._styles.get(_value(settings, "pStyle") or "", ParagraphRole())
        own = _heading_of_outline(settings)
        if styled.heading is not None or own is not None or styled.is_contents:
            return ParagraphRole(
                heading=own if styled.heading is None else styled.heading, is_contents=styled.is_contents
            )
        depth = _list_depth(settings)
        return ParagraphRole(list_depth=styled.list_depth if depth is None else depth)

    def _write(self, element: Any, role: ParagraphRole) -> None:
        if element.tag == TABLE:
            self._writer.write_table(_rows(element))
        elif role.heading is not None:
            level = 1 if role.heading == TITLE_LEVEL else role.heading + self._top_level - 1
            self._writer.write_heading(_text(element), level)
        elif not role.is_contents:
            self._writer.write_block("paragraph", [_text(element)])
        self._write_boxes(element)

    def _write_list(self, items: list[tuple[Any, ParagraphRole]]) -> None:
        texts = ((one_line(_text(element)), role.list_depth or 0) for element, role in items)
        self._writer.write_block("list", [f"{'  ' * min(depth, 8)}- {text}" for text, depth in texts if text])
        for element, _ in items:
            self._write_boxes(element)

    def _write_boxes(self, element: Any) -> None:
        """Write the text boxes anchored to a paragraph."""
        if element.tag == TABLE:
            return
        for box in element.iter(BOX):
            if not _is_repeated(box):
                for inner in _blocks(box):
                    self._write_box_block(inner)

    def _write_box_block(self, element: Any) -> None:
        if element.tag == TABLE:
            self._writer.write_table(_rows(element))
        else:
            self._writer.write_block("paragraph", [_text(element)])


def _blocks(container: Any) -> Iterator[Any]:
    """Yield paragraphs and tables in their order, also those inside content controls and insertions."""
    for child in container.iterchildren():
        if child.tag in (PARAGRAPH, TABLE):
            yield child
        elif child.tag in WRAPPERS:
            yield from _blocks(child)


def _text(element: Any) -> str:
    pieces: list[str] = []
    for child in element.iterchildren():
        if child.tag in TEXT:
            pieces.append(child.text or "")
        elif child.tag in SIGNS:
            pieces.append(SIGNS[child.tag])
        elif child.tag not in LEFT_OUT:
            pieces.append(_text(child))
    return "".join(pieces)


def _rows(table: Any) -> Iterator[list[str]]:
    for row in _within(table, ROW):
        yield [_cell_text(cell) for cell in _within(row, CELL)]


def _within(container: Any, tag: str) -> Iterator[Any]:
    for child in container.iterchildren():
        if child.tag == tag:
            yield child
        elif child.tag in WRAPPERS:
            yield from _within(child, tag)


def _cell_text(cell: Any) -> str:
    """Return the text of a cell, with nested tables and text boxes."""
    return " ".join(_text(paragraph) for paragraph in cell.iter(PARAGRAPH) if not _is_repeated(paragraph))


def _is_repeated(element: Any) -> bool:
    """Return whether the element repeats another one, for programs that don't know the first form."""
    return any(above.tag == FALLBACK for above in element.iterancestors())


def _style_roles(styles: Any) -> Mapping[str, ParagraphRole]:
    """Return the roles by style id, with the settings inherited from base styles."""
    by_id = {style.get(f"{WORD}styleId"): style for style in styles.iterchildren(f"{WORD}style")}
    return {style_id: _style_role(style, by_id) for style_id, style in by_id.items()}


def _style_role(style: Any, by_id: Mapping[str, Any]) -> ParagraphRole:
    heading = list_depth = None
    for _ in range(MAX_STYLE_CHAIN):
        if style is None:
            break
        name = (_value(style, "name") or "").lower()
        if CONTENTS_NAME.match(name):
            return ParagraphRole(is_contents=True)
        settings = style.find(f"{WORD}pPr")
        if heading is None:
            heading = _heading_of_name(name)
        if heading is None and settings is not None:
            heading = _heading_of_outline(settings)
        if list_depth is None:
            list_depth = 0 if name.startswith("list ") and name != "list paragraph" else _list_depth(settings)
        style = by_id.get(_value(style, "basedOn") or "")
    return ParagraphRole(heading=heading) if heading is not None else ParagraphRole(list_depth=list_depth)


def _heading_of_name(name: str) -> int | None:
    matched = HEADING_NAME.fullmatch(name)
    if matched:
        return int(matched[1])
    return TITLE_LEVEL if name == "title" else None


def _heading_of_outline(settings: Any) -> int | None:
    level = _value(settings, "outlineLvl") or ""
    return int(level) + 1 if level in {"0", "1", "2", "3", "4", "5"} else None


def _list_depth(settings: Any) -> int | None:
    numbering = None if settings is None else settings.find(f"{WORD}numPr")
    if numbering is None or _value(numbering, "numId") in (None, "0"):
        return None
    level = _value(numbering, "ilvl") or "0"
    return int(level) if level.isdecimal() else 0


def _value(element: Any, name: str) -> str | None:
    """Return the `val` of the child `name`, None without one."""
    child = element.find(f"{WORD}{name}")
    return None if child is None else child.get(f"{WORD}val")
