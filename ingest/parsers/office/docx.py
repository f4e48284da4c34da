"""Word documents: headings by style, paragraphs, lists, tables, text boxes and notes."""

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final

from ingest.parsers.content_type import identify
from ingest.parsers.errors import ParseRefused
from ingest.parsers.office.drawings import (
    CHART,
    CHECKED,
    COMPATIBILITY,
    DIAGRAM,
    DIAGRAM_ID,
    DRAWING,
    RELATION_ID,
    UNCHECKED,
    diagram_texts,
    write_chart,
)
from ingest.parsers.office.equations import MATH, equation_text
from ingest.parsers.office.links import (
    comment_line,
    described,
    embedded_line,
    field_links,
    link_line,
    sensible_title,
)
from ingest.parsers.office.normal_package import open_package
from ingest.parsers.office.package import DAMAGE, check_for_library, core_properties
from ingest.parsers.office.paragraph_numbers import WORD, Numbering, value_of
from ingest.parsers.outline_writer import OutlineWriter, one_line
from ingest.parsers.types import FileType, Outline

PARAGRAPH, TABLE, ROW, CELL, BOX = (f"{WORD}{name}" for name in ("p", "tbl", "tr", "tc", "txbxContent"))
INSERTED_FILE, LINK = f"{WORD}altChunk", f"{WORD}hyperlink"
EMBEDDED_FILE: Final = "{urn:schemas-microsoft-com:office:office}OLEObject"
FALLBACK: Final = f"{COMPATIBILITY}Fallback"
DELETED: Final = (f"{WORD}del", f"{WORD}moveFrom")
TEXT, SYMBOL, RUN = f"{WORD}t", f"{WORD}sym", f"{WORD}r"
OLD_SHAPE: Final = "{urn:schemas-microsoft-com:vml}shape"
DRAWN: Final = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"
SIGNS: Final = {
    f"{WORD}{name}": sign
    for name, sign in {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}.items()
}
SOFT_HYPHEN: Final = "\xad"
#: where fonts of symbols have their letters
SYMBOL_CODES = re.compile("[\uf020-\uf0ff]")
#: characters of the fonts Symbol and Wingdings, and what they look like
SYMBOL_LETTERS: Final = (
    "abcdefghiklmnopqrstuwxyzABCDEFGHIKLMNOPQRSTUWXYZ\xa3\xb3\xb9\xb1\xb4\xb8\xb0\xb7\xa5\xd6\xe5\xac\xae"
)
SYMBOL_SIGNS: Final = "αβχδεφγηικλμνοπθρστυωξψζΑΒΧΔΕΦΓΗΙΚΛΜΝΟΠΘΡΣΤΥΩΞΨΖ≤≥≠±×÷°•∞√∑←→"
SYMBOLS: Final[Mapping[str, Mapping[str, str]]] = {
    "Symbol": dict(zip(SYMBOL_LETTERS, SYMBOL_SIGNS, strict=True)),
    "Wingdings": dict(zip("\xfc\xfb\xfe\xfd\xa8oqv\xa7nl\xe0\xdf(*JL", "✓✗☑☒☐☐❑❖▪■●→←☎✉☺☹", strict=True)),
    "Wingdings 2": dict(zip("PORT\xa3", "✓✗☑☒☐", strict=True)),
}
#: deleted text, and content repeated for older programs
LEFT_OUT: Final = frozenset({*(f"{WORD}{name}" for name in ("pPr", "rPr", "rt")), *DELETED, BOX, FALLBACK})
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
EDGE_PARTS: Final = ("/header", "/footer")
#: fields with the number of the page, and what stands beside them
#: files inserted into inserted files are read to this depth
MAX_INSERTED: Final = 3
PAGE_FIELD = re.compile(r"\s*(?:PAGE|NUMPAGES|SECTIONPAGES|SECTION)\b")
BESIDE_PAGE = re.compile(r"(?i)(?:[\W\d_]|\b(?:page|seite|pagina|página|of|von|sur|de|di|van)\b)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParagraphRole:
    """The role of a paragraph: heading, list item, line of the table of contents or plain text."""

    #: 1 to 6, TITLE_LEVEL for the title, None for other paragraphs
    heading: int | None = None
    #: id and depth, from 0, of its list; None outside of one
    numbering: tuple[str, int] | None = None
    #: whether it is an item without numbering
    is_item: bool = False
    #: a line of the table of contents, which only repeats headings
    is_contents: bool = False


def parse_docx(content: bytes, file: FileType, *, depth: int = 0) -> Outline:
    """Return the readable text of a Word document; the lines are the outline's own, as the file has none.

    Automatic numbers stand before the text, comments and targets of links after their paragraph. Text that
    was deleted under change tracking and the table of contents are left out. Footnotes and endnotes come
    last, then page headers and footers, each once. `depth` is that of a file inserted into another.

    Raises:
        ParseRefused: see `open_package` and `check_for_library`.
    """
    content, archive = open_package(content, "docx")
    check_for_library(archive, as_tree=True)
    document = _open_document(content)
    stated, metadata = core_properties(archive)
    writer = OutlineWriter()
    reader = _DocxReader(writer, document, depth)
    reader.read(document.element.body)
    has_heading = any(block.kind == "heading" for block in writer.blocks)
    title = sensible_title(stated) or (None if has_heading else writer.first_words)
    reader.report_omissions(document.element.body)
    reader.read_notes()
    reader.read_edges()
    return writer.outline(title=title, metadata=metadata)


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

    def __init__(self, writer: OutlineWriter, document: Any, depth: int) -> None:
        self._depth = depth
        self._writer = writer
        self._part = document.part
        self._numbering = Numbering(next(self._related("/numbering"), None))
        by_id = {
            style.get(f"{WORD}styleId"): style
            for style in document.styles.element.iterchildren(f"{WORD}style")
        }
        self._styles = {style_id: _style_role(style_id, by_id, self._numbering) for style_id in by_id}
        self._comments = {
            comment.get(f"{WORD}id"): (comment.get(f"{WORD}author") or "", _all_text(comment))
            for root in self._related("/comments")
            for comment in root.iterchildren(f"{WORD}comment")
        }
        #: charts, diagrams and inserted files that were written
        self._drawn: set[Any] = set()
        self._top_level = 1

    def read(self, body: Any) -> None:
        """Write headings, paragraphs, lists and tables in their order."""
        # the document's title is one level above its first headings
        self._top_level = 1 + any(self._role(element).heading == TITLE_LEVEL for element in _blocks(body))
        elements = ((element, self._role(element)) for element in _blocks(body))
        for is_list, run in groupby(elements, key=lambda pair: pair[1].is_item):
            if is_list:
                self._write_list(list(run))
            else:
                for element, role in run:
                    self._write(element, role)
        for comment in self._comments.values():  # without a place
            self._writer.write_block("paragraph", [comment_line(*comment)])

    def report_omissions(self, body: Any) -> None:
        """Report deleted and hidden text."""
        deleted = (each.text or "" for each in body.iter(f"{WORD}delText"))
        hidden = ("".join(run.itertext(TEXT)) for run in body.iter(RUN) if _is_hidden(run))
        self._writer.omitted("deleted_text", sum(map(len, deleted)))
        self._writer.omitted("hidden_text", sum(map(len, hidden)))

    def read_notes(self) -> None:
        """Write footnotes and endnotes under a heading of their own."""
        notes: list[str] = []
        for part in self._related_parts(*NOTE_PARTS):
            for note in _root(part).iterchildren():
                notes += [_all_text(note), *_links(note, part)]
        if any(notes):
            self._writer.write_heading("Notes", self._top_level)
            self._writer.write_block("list", notes)

    def read_edges(self) -> None:
        """Write page headers and footers under a heading of their own, without the numbers of pages."""
        edges = dict.fromkeys(_edge_text(root) for root in self._related(*EDGE_PARTS))
        if any(edges):
            self._writer.write_heading("Headers and footers", self._top_level)
            self._writer.write_block("list", edges)

    def _related(self, *kinds: str) -> Iterator[Any]:
        """Yield the roots of the parts of these kinds, each once."""
        return map(_root, self._related_parts(*kinds))

    def _related_parts(self, *kinds: str) -> Iterator[Any]:
        related = (each for each in self._part.rels.values() if not each.is_external)
        yield from dict.fromkeys(each.target_part for each in related if each.reltype.endswith(kinds))

    def _role(self, element: Any) -> ParagraphRole:
        """Return the role of a paragraph by its style and its own settings."""
        settings = element.find(f"{WORD}pPr") if element.tag == PARAGRAPH else None
        if settings is None:
            return ParagraphRole()
        styled = self._styles.get(value_of(settings, "pStyle") or "", ParagraphRole())
        heading = _heading_of_outline(settings) if styled.heading is None else styled.heading
        numbering = _numbering(settings, styled.numbering)
        is_item = styled.is_item if numbering == styled.numbering else numbering is not None
        is_item = is_item and heading is None and not styled.is_contents
        return replace(styled, heading=heading, numbering=numbering, is_item=is_item)

    def _write(self, element: Any, role: ParagraphRole) -> None:
        if element.tag == TABLE:
            self._writer.write_table(self._rows(element))
        elif element.tag == INSERTED_FILE:
            self._write_inserted(element)
        elif role.heading is not None:
            level = 1 if role.heading == TITLE_LEVEL else role.heading + self._top_level - 1
            label, text = self._label(role), _text(element)
            self._writer.write_heading(f"{label} {text}" if label and text.strip() else text, level)
        elif not role.is_contents:
            self._writer.write_block("paragraph", [_text(element)])
        self._write_anchored(element)

    def _write_list(self, items: list[tuple[Any, ParagraphRole]]) -> None:
        lines = []
        for element, role in items:
            label = self._label(role) or "-"
            if text := one_line(_text(element)):
                depth = 0 if role.numbering is None else min(role.numbering[1], 8)
                lines.append(f"{'  ' * depth}{label} {text}")
        self._writer.write_block("list", lines)
        for element, _ in items:
            self._write_anchored(element)

    def _label(self, role: ParagraphRole) -> str:
        return "" if role.numbering is None else self._numbering.next_label(*role.numbering)

    def _write_inserted(self, element: Any) -> None:
        """Write the text of a file that Word shows in the place of the element."""
        part = self._part.related_parts.get(element.get(RELATION_ID))
        if part is None or part in self._drawn:
            return
        self._drawn.add(part)
        try:
            outline = _read_inserted(part.blob, part.partname, self._depth + 1)
        except (ParseRefused, *DAMAGE):
            self._writer.omitted("unreadable_parts", where=part.partname)
            return
        self._writer.write_outline(outline)

    def _write_anchored(self, element: Any) -> None:
        """Write comments, links, names of embedded files and drawings of an element."""
        for reference in element.iter(f"{WORD}commentReference"):
            comment = self._comments.pop(reference.get(f"{WORD}id"), ("", ""))
            self._writer.write_block("paragraph", [comment_line(*comment)])
        related = self._part.related_parts
        ids = (each.get(RELATION_ID) for each in element.iter(EMBEDDED_FILE))
        embedded = [related[each].partname for each in ids if each in related]
        for part in embedded:
            self._writer.omitted("embedded_files", where=part)
        self._writer.write_block("list", [*_links(element, self._part), *map(embedded_line, embedded)])
        self._write_boxes(element)

    def _write_boxes(self, element: Any) -> None:
        """Write charts, diagrams and text boxes."""
        self._write_drawings(element)
        if element.tag == TABLE:
            return
        for box in element.iter(BOX):
            if not _is_left_out(box):
                for inner in _blocks(box):
                    if inner.tag == TABLE:
                        self._writer.write_table(self._rows(inner))
                    else:
                        self._writer.write_block("paragraph", [_text(inner)])

    def _write_drawings(self, element: Any) -> None:
        for drawn in element.iter(f"{CHART}chart", f"{DIAGRAM}relIds"):
            part = self._part.related_parts.get(drawn.get(RELATION_ID) or drawn.get(DIAGRAM_ID))
            if part is None or part in self._drawn or _is_left_out(drawn):
                continue
            self._drawn.add(part)
            root = _root(part)
            if drawn.tag == f"{CHART}chart":
                write_chart(root, self._writer)
            else:
                self._writer.write_block("list", diagram_texts(root))

    def _rows(self, table: Any) -> Iterator[list[str]]:
        for row in _within(table, ROW):
            if row.find(f"{WORD}trPr/{WORD}del") is None:
                cells = (
                    each for each in _within(row, CELL) if each.find(f"{WORD}tcPr/{WORD}cellDel") is None
                )
                yield [self._cell_text(cell) for cell in cells]

    def _cell_text(self, cell: Any) -> str:
        """Return the text of a cell, with nested tables and text boxes."""
        paragraphs = [each for each in cell.iter(PARAGRAPH) if not _is_left_out(each)]
        return " ".join(f"{self._label(self._role(each))} {_text(each)}".strip() for each in paragraphs)


def _read_inserted(content: bytes, name: str, depth: int) -> Outline:
    from ingest.parsers.registry import parse

    file = identify(content, name)
    if file.parsers[0] != "docx":
        return parse(content, name).outline
    if depth > MAX_INSERTED:
        raise ParseRefused("too_large", f"files are inserted into each other more than {MAX_INSERTED} times")
    return parse_docx(content, file, depth=depth)


def _blocks(container: Any) -> Iterator[Any]:
    """Yield paragraphs, tables and inserted files in their order, also those inside content controls."""
    for child in container.iterchildren():
        if child.tag in (PARAGRAPH, TABLE, INSERTED_FILE):
            yield child
        elif child.tag in WRAPPERS:
            yield from _blocks(child)


def _text(element: Any) -> str:
    pieces: list[str] = []
    for child in element.iterchildren():
        tag = child.tag
        if tag == TEXT:
            text = (child.text or "").replace(SOFT_HYPHEN, "")
            pieces.append(_symbols(text, element) if SYMBOL_CODES.search(text) else text)
        elif tag in SIGNS:
            pieces.append(SIGNS[tag])
        elif tag == SYMBOL:
            pieces.append(_symbol(child))
        elif tag == f"{WORD}fldChar":
            pieces.append(_form_value(child))
        elif tag == DRAWN:
            pieces.append(_alternative_text(child.get("descr") or child.get("title")))
        elif tag == OLD_SHAPE:
            pieces.append(_alternative_text(child.get("alt")) + _text(child))
        elif tag in (f"{MATH}oMath", f"{MATH}oMathPara"):
            pieces.append(equation_text(child))
        elif tag not in LEFT_OUT and not (tag == RUN and _is_hidden(child)):
            pieces.append(_text(child))
    return "".join(pieces)


def _is_hidden(run: Any) -> bool:
    return _is_on(run.find(f"{WORD}rPr/{WORD}vanish"))


def _is_on(setting: Any | None) -> bool:
    return setting is not None and setting.get(f"{WORD}val") not in ("0", "false", "off")


def _form_value(field: Any) -> str:
    """Return the state of a check box or the choice in a drop-down list, '' for other fields."""
    if (box := field.find(f"{WORD}ffData/{WORD}checkBox")) is not None:
        checked = box.find(f"{WORD}checked")
        return CHECKED if _is_on(box.find(f"{WORD}default") if checked is None else checked) else UNCHECKED
    if (choices := field.find(f"{WORD}ffData/{WORD}ddList")) is not None:
        texts = [each.get(f"{WORD}val") or "" for each in choices.iterchildren(f"{WORD}listEntry")]
        chosen = value_of(choices, "result") or value_of(choices, "default") or "0"
        return texts[int(chosen)] if chosen in map(str, range(len(texts))) else ""
    return ""


def _links(element: Any, part: Any) -> Iterator[str]:
    """Yield a line for each link and each HYPERLINK field in an element of `part`."""
    for link in element.iter(LINK, f"{DRAWING}hlinkClick"):
        relation = part.rels.get(link.get(RELATION_ID))
        if relation is not None and relation.is_external and not _is_left_out(link):
            yield link_line(_text(link), relation.target_ref)
    fields = [each.text or "" for each in element.iter(f"{WORD}instrText")]
    fields += [f" {each.get(f'{WORD}instr')}" for each in element.iter(f"{WORD}fldSimple")]
    yield from field_links("".join(fields), _text(element) if fields else "")


def _all_text(element: Any) -> str:
    """Return the text of all paragraphs on one line."""
    paragraphs = (each for each in element.iter(PARAGRAPH) if not _is_left_out(each))
    return " ".join(filter(None, (one_line(_text(each)) for each in paragraphs)))


def _symbol(element: Any) -> str:
    try:
        code = int(element.get(f"{WORD}char") or "", 16)
    except ValueError:
        return ""
    return _letter(code, element.get(f"{WORD}font") or "")


def _symbols(text: str, run: Any) -> str:
    """Return the text of a run with the letters of a font of symbols replaced by what they look like."""
    fonts = run.find(f"{WORD}rPr/{WORD}rFonts")
    font = "" if fonts is None else fonts.get(f"{WORD}ascii") or fonts.get(f"{WORD}hAnsi") or ""
    return SYMBOL_CODES.sub(lambda found: _letter(ord(found[0]), font), text)


def _letter(code: int, font: str) -> str:
    letter = chr(code - 0xF000 if 0xF000 <= code < 0xF100 else code)
    return SYMBOLS[font].get(letter, "") if font in SYMBOLS else letter


def _edge_text(root: Any) -> str:
    """Return the text of a page header or footer, '' if it is no more than the number of the page."""
    texts = []
    for paragraph in root.iter(PARAGRAPH):
        text = one_line(_text(paragraph))
        fields = [*(each.text or "" for each in paragraph.iter(f"{WORD}instrText"))]
        fields += [each.get(f"{WORD}instr") or "" for each in paragraph.iter(f"{WORD}fldSimple")]
        is_number = any(map(PAGE_FIELD.match, fields)) and BESIDE_PAGE.fullmatch(text)
        if text and not is_number and not _is_left_out(paragraph):
            texts.append(text)
    return " ".join(texts)


def _within(container: Any, tag: str) -> Iterator[Any]:
    for child in container.iterchildren():
        if child.tag == tag:
            yield child
        elif child.tag in WRAPPERS:
            yield from _within(child, tag)


def _is_left_out(element: Any) -> bool:
    """Return whether an element is deleted, or repeats another one for programs that don't know the first."""
    return any(above.tag == FALLBACK or above.tag in DELETED for above in element.iterancestors())


def _root(part: Any) -> Any:
    from docx.oxml.parser import parse_xml

    return parse_xml(part.blob)


def _style_role(style_id: str, by_id: Mapping[str, Any], numbering: Numbering) -> ParagraphRole:
    heading = numbered = depth = None
    is_list = False
    style = by_id[style_id]
    for _ in range(MAX_STYLE_CHAIN):
        if style is None:
            break
        name = (value_of(style, "name") or "").lower()
        if CONTENTS_NAME.match(name):
            return ParagraphRole(is_contents=True)
        settings = style.find(f"{WORD}pPr")
        if heading is None:
            heading = _heading_of_name(name)
        if heading is None and settings is not None:
            heading = _heading_of_outline(settings)
        if numbered is None and settings is not None and settings.find(f"{WORD}numPr") is not None:
            own = settings.find(f"{WORD}numPr")
            depth = value_of(own, "ilvl") if depth is None else depth
            if (list_id := value_of(own, "numId")) is not None:
                level = numbering.level_of_style(list_id, style_id)
                numbered = list_id, int(depth) if depth in set("012345678") else level
        is_list = is_list or (name.startswith("list ") and name != "list paragraph")
        style = by_id.get(value_of(style, "basedOn") or "")
    if numbered is not None and numbered[0] == "0":
        numbered = None
    is_item = heading is None and (is_list or numbered is not None)
    return ParagraphRole(heading=heading, numbering=numbered, is_item=is_item)


def _heading_of_name(name: str) -> int | None:
    matched = HEADING_NAME.fullmatch(name)
    if matched:
        return int(matched[1])
    return TITLE_LEVEL if name == "title" else None


def _heading_of_outline(settings: Any) -> int | None:
    level = value_of(settings, "outlineLvl") or ""
    return int(level) + 1 if level in {"0", "1", "2", "3", "4", "5"} else None


def _numbering(settings: Any, styled: tuple[str, int] | None) -> tuple[str, int] | None:
    """Return id and depth of a paragraph's list, those of its style unless its settings say others."""
    numbering = settings.find(f"{WORD}numPr")
    if numbering is None:
        return styled
    list_id = value_of(numbering, "numId") or (styled[0] if styled else None)
    if list_id is None or list_id == "0":
        return None
    level = value_of(numbering, "ilvl") or ""
    depth = int(level) if level in set("012345678") else styled[1] if styled else 0
    return list_id, depth


def _alternative_text(text: str | None) -> str:
    shown = described(text)
    return f" {shown} " if shown else ""
