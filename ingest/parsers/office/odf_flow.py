"""Flowing text of OpenDocument files: headings, paragraphs, lists, tables, and the shapes among them."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from ingest.parsers.office.equations import mathml_text
from ingest.parsers.office.odf_text import (
    ANNOTATION,
    CHART,
    DRAW,
    HEADING,
    HREF,
    LIST,
    OBJECT,
    OFFICE,
    PARAGRAPH,
    STYLE,
    SVG,
    TABLE,
    TABLES,
    TEXT,
    Anchored,
    all_text,
    attribute_number,
    comment_text,
    description,
    paragraph_text,
)
from ingest.parsers.office.paragraph_numbers import write_number
from ingest.parsers.outline_writer import MAX_EMPTY_CELLS, OutlineWriter, one_line

_ID: Final = "{http://www.w3.org/XML/1998/namespace}id"
#: LibreOffice writes the whole text of a number, as `%1%.%2%`
_PATTERN: Final = "{urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0}num-list-format"
_PLACE: Final = re.compile(r"%(\d{1,2})%")
_NUMBERED: Final = frozenset({f"{TEXT}list-level-style-number", f"{TEXT}outline-level-style"})
_FORMATS: Final = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_OUTLINE: Final = "Outline"

#: The last number of each level.
Counts = dict[int, int]


class ListNumbers:
    """The numbers of a document's lists and headings, to be asked for in their order."""

    def __init__(self, roots: Iterable[Any]) -> None:
        self._levels: dict[tuple[str, int], Any] = {}
        for root in roots:
            for style in root.iter(f"{TEXT}list-style", f"{TEXT}outline-style"):
                name = style.get(f"{STYLE}name") if style.tag == f"{TEXT}list-style" else _OUTLINE
                for level in style:
                    if level.tag in _NUMBERED:
                        self._levels[name or "", attribute_number(level, f"{TEXT}level", 1)] = level
        self._outline: Counts = {}
        self._lists: dict[str, Counts] = {}
        self._last = ""

    def heading_label(self, heading: Any, level: int) -> str:
        """Count a heading outside of lists, and return its number, '' without one."""
        if heading.get(f"{TEXT}is-list-header") == "true":
            return ""
        start = heading.get(f"{TEXT}restart-numbering") == "true"
        return self._next(_OUTLINE, self._outline, level, heading if start else None)

    def begin_list(self, element: Any) -> Counts:
        """Return the numbers of a list so far, those of another one if it goes on with them."""
        continued = element.get(f"{TEXT}continue-list") or ""
        if not continued and element.get(f"{TEXT}continue-numbering") == "true":
            continued = self._last
        is_outline = element.get(f"{TEXT}style-name") == _OUTLINE
        counts = self._outline if is_outline else self._lists.get(continued, {})
        self._last = element.get(_ID) or f"#{len(self._lists)}"
        self._lists[self._last] = counts
        return counts

    def item_label(self, style: str, counts: Counts, level: int, item: Any) -> str:
        """Count an item of a list, and return its number, '' for a bullet."""
        return self._next(style, counts, level, item)

    def _next(self, style: str, counts: Counts, level: int, starting: Any | None) -> str:
        start = 0 if starting is None else attribute_number(starting, f"{TEXT}start-value", 0)
        counts[level] = start or counts.get(level, self._start(style, level) - 1) + 1
        for below in [other for other in counts if other > level]:
            del counts[below]
        drawn = self._levels.get((style, level))
        if drawn is None or not drawn.get(f"{STYLE}num-format"):
            return ""
        if pattern := drawn.get(_PATTERN):
            text = _PLACE.sub(lambda place: self._write(style, counts, int(place[1])), pattern)
            return " ".join(text.split())
        shown = min(level, attribute_number(drawn, f"{TEXT}display-levels", 1))
        numbers = (self._write(style, counts, at) for at in range(level - shown + 1, level + 1))
        before, after = (drawn.get(f"{STYLE}num-{name}") or "" for name in ("prefix", "suffix"))
        return f"{before}{'.'.join(filter(None, numbers))}{after}".strip()

    def _start(self, style: str, level: int) -> int:
        drawn = self._levels.get((style, level))
        return 1 if drawn is None else attribute_number(drawn, f"{TEXT}start-value", 1)

    def _write(self, style: str, counts: Counts, level: int) -> str:
        drawn = self._levels.get((style, level))
        form = "" if drawn is None else drawn.get(f"{STYLE}num-format") or ""
        return (
            write_number(counts.get(level, self._start(style, level)), _FORMATS.get(form, "")) if form else ""
        )


#: what repeats headings or words, was deleted, or is no text
_LEFT_OUT: Final = frozenset(
    {
        *(f"{TEXT}{name}" for name in ("tracked-changes", "table-of-content", "index-title-template")),
        *(f"{TEXT}{name}-index" for name in ("alphabetical", "illustration", "table", "object", "user")),
        *(f"{OFFICE}{name}" for name in ("forms", "scripts", "event-listeners")),
        *(f"{SVG}{name}" for name in ("title", "desc")),
        f"{DRAW}image",
    }
)
_ROW: Final = f"{TABLE}table-row"
_CELLS: Final = (f"{TABLE}table-cell", f"{TABLE}covered-table-cell")
#: rows and cells that one element repeats; a sheet ends with a million empty ones
MAX_REPEATED: Final = 1_000
MAX_COLUMNS: Final = 16_384

#: Returns the root of an object by its address in the file, None if it can't be read.
LoadObject = Callable[[str], Any | None]


class FlowWriter:
    """Writer of elements in their order."""

    def __init__(self, writer: OutlineWriter, roots: Sequence[Any], load_object: LoadObject) -> None:
        self._writer = writer
        self._load_object = load_object
        self._numbers = ListNumbers(roots)
        self._bases = {
            style.get(f"{STYLE}name"): style.get(f"{STYLE}parent-style-name")
            for root in roots
            for style in root.iter(f"{STYLE}style")
        }
        self.notes: list[str] = []
        #: the document's title is one level above its first headings
        self.top_level = 1

    def is_title(self, paragraph: Any) -> bool:
        """Return whether a paragraph is the document's title."""
        style: str | None = paragraph.get(f"{TEXT}style-name")
        for _ in range(10):
            if style in (None, "Title"):
                break
            style = self._bases.get(style)
        return style == "Title"

    def write(self, element: Any) -> None:
        """Write an element with all that is in it; a shape's description follows its text."""
        tag = element.tag
        if not isinstance(tag, str) or tag in _LEFT_OUT:
            return
        anchored = Anchored()
        if tag in (PARAGRAPH, HEADING):
            self._write_paragraph(element, anchored)
        elif tag == LIST:
            self._write_list(element, anchored)
        elif tag == TABLES:
            self._write_table(element, anchored)
        elif tag == OBJECT:
            self._write_object(element, anchored)
        elif tag == ANNOTATION:
            anchored.comments.append(comment_text(element))
        else:
            for child in element.iterchildren():
                self.write(child)
            self._writer.write_block("paragraph", [description(element)])
        self._write_anchored(anchored)

    def write_lines(self, shape: Any) -> None:
        """Write a shape of nothing but paragraphs and lists as one block, any other as it is."""
        inner = next(shape.iterchildren(f"{DRAW}text-box"), shape)
        texts = [child for child in inner.iterchildren() if child.tag in (PARAGRAPH, LIST)]
        if len(texts) < 2 or len(texts) < len(inner):
            self.write(shape)
            return
        anchored = Anchored()
        self._writer.write_block("list", [line for child in texts for line in self._lines(child, anchored)])
        self._writer.write_block("paragraph", [description(shape)])
        self._write_anchored(anchored)

    def _lines(self, element: Any, anchored: Anchored) -> Iterator[str]:
        if element.tag == PARAGRAPH:
            yield paragraph_text(element, anchored)
        else:
            yield from (line for line, _ in self._items(element, anchored))

    def _write_anchored(self, anchored: Anchored) -> None:
        self.notes += filter(None, anchored.notes)
        for comment in anchored.comments:
            self._writer.write_block("paragraph", [comment])
        self._writer.write_block("list", anchored.links)
        for block in anchored.blocks:
            self.write(block)

    def _write_paragraph(self, element: Any, anchored: Anchored) -> None:
        text = paragraph_text(element, anchored).strip()
        if element.tag == HEADING and not self.is_title(element):
            level = attribute_number(element, f"{TEXT}outline-level", 1)
            label = self._numbers.heading_label(element, level) if text else ""
            self._writer.write_heading(f"{label} {text}", level + self.top_level - 1)
        elif text and (element.tag == HEADING or self.is_title(element)):
            self._writer.write_heading(text, 1)
        else:
            self._writer.write_block("paragraph", [text])

    def _write_list(self, element: Any, anchored: Anchored) -> None:
        lines: list[str] = []
        for line, level in self._items(element, anchored):
            if level is None:
                lines.append(line)
                continue
            self._writer.write_block("list", lines)
            lines.clear()
            self._writer.write_heading(line, level + self.top_level - 1)
        self._writer.write_block("list", lines)

    def _items(self, element: Any, anchored: Anchored) -> Iterator[tuple[str, int | None]]:
        """Yield the items of a list with their numbers, as lines, and the levels of headings among them."""
        return self._nested_items(element, "", self._numbers.begin_list(element), 1, anchored)

    def _nested_items(
        self, element: Any, style: str, counts: Counts, depth: int, anchored: Anchored
    ) -> Iterator[tuple[str, int | None]]:
        style = element.get(f"{TEXT}style-name") or style
        for item in element.iterchildren(f"{TEXT}list-item", f"{TEXT}list-header"):
            label, mark = "", " "
            is_new = item.tag == f"{TEXT}list-item"
            for child in item.iterchildren():
                if child.tag == LIST:
                    yield from self._nested_items(child, style, counts, depth + 1, anchored)
                elif child.tag in (PARAGRAPH, HEADING):
                    if is_new:
                        label = self._numbers.item_label(style, counts, depth, item)
                        mark = label or "-"
                    if text := one_line(paragraph_text(child, anchored)):
                        level = attribute_number(child, f"{TEXT}outline-level", 1)
                        is_heading = child.tag == HEADING
                        line = f"{label} {text}" if is_heading else f"{'  ' * min(depth - 1, 8)}{mark} {text}"
                        yield line, level if is_heading else None
                    is_new, label, mark = False, "", " "  # further paragraphs of an item have no number
                else:
                    anchored.blocks.append(child)

    def _write_table(self, table: Any, anchored: Anchored) -> None:
        rows = (_texts(row, anchored) for row in row_elements(table))
        self._writer.write_table(rows)

    def _write_object(self, element: Any, anchored: Anchored) -> None:
        """Write an equation as text, and a chart as its titles and the table of its data."""
        root = next(element.iterchildren(), None)
        root = self._load_object(element.get(HREF) or "") if root is None else root
        if root is None:
            return
        self._writer.write_block("paragraph", [mathml_text(root), *chart_titles(root)])
        for table in root.iter(TABLES):
            self._write_table(table, anchored)


def chart_titles(root: Any) -> Iterator[str]:
    """Yield the titles of a chart and its axes."""
    for title in root.iter(f"{CHART}title", f"{CHART}subtitle"):
        if text := all_text(title):
            yield text


def row_elements(container: Any) -> Iterator[Any]:
    """Yield the rows of a table, those of its groups included."""
    for child in container.iterchildren():
        if child.tag == _ROW:
            yield child
        elif isinstance(child.tag, str) and child.tag.startswith(f"{TABLE}table-"):
            yield from row_elements(child)


def cell_elements(row: Any) -> Iterator[tuple[Any, int]]:
    """Yield the cells of a row, and how often each is repeated."""
    for cell in row.iterchildren(*_CELLS):
        yield cell, max(1, attribute_number(cell, f"{TABLE}number-columns-repeated", 1))


def add_cell(cells: list[str], text: str, times: int) -> None:
    """Add a cell to a row as often as it is repeated, within limits."""
    most = min(MAX_REPEATED if text else MAX_EMPTY_CELLS + 1, MAX_COLUMNS - len(cells))
    cells += [text] * min(most, times)


def _texts(row: Any, anchored: Anchored) -> list[str]:
    cells: list[str] = []
    for cell, times in cell_elements(row):
        add_cell(cells, all_text(cell, anchored), times)
    return cells
