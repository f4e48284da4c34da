"""Presentations: one page per slide, with its title as a heading, text, tables, charts and notes."""

import io
from collections.abc import Iterator, Mapping
from contextlib import suppress
from operator import itemgetter
from typing import Any, Final

from ingest.parsers.office.docx import BESIDE_PAGE
from ingest.parsers.office.drawings import (
    COMPATIBILITY,
    DIAGRAM,
    DIAGRAM_ID,
    DRAWING,
    RELATION_ID,
    diagram_texts,
    write_chart,
)
from ingest.parsers.office.equations import equation_text
from ingest.parsers.office.links import comment_line, described, embedded_line, link_line, sensible_title
from ingest.parsers.office.normal_package import open_package
from ingest.parsers.office.package import check_for_library, core_properties
from ingest.parsers.outline_writer import OutlineWriter, one_line
from ingest.parsers.types import FileType, Outline

NOTES_LABEL: Final = "Notes: "
#: shapes whose tops differ by less stand in a row: a centimetre
ROW_EMU: Final = 360_000
PRESENTATION: Final = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
#: errors of the library in a shape that it doesn't know
ODD_SHAPE: Final = (AttributeError, LookupError, TypeError, ValueError, NotImplementedError)
EQUATION: Final = "{http://schemas.microsoft.com/office/drawing/2010/main}m"


def parse_pptx(content: bytes, file: FileType) -> Outline:
    """Return the readable text of a presentation in the order of its slides, hidden ones included.

    A slide without a title gets the heading `Slide N`, so that its text isn't filed under the slide
    before. A chart is its titles and its data, a diagram the list of its texts, a picture its description.
    Targets of links follow the shapes. Dates, page numbers, footers and strokes of a pen are left out;
    those with words are reported.

    Raises:
        ParseRefused: see `open_package` and `check_for_library`.
    """
    content, archive = open_package(content, "pptx")
    check_for_library(archive, as_tree=True)
    from pptx.package import Package

    main_part: Any = Package.open(io.BytesIO(content)).main_document_part
    writer = OutlineWriter()
    titles: list[str] = []
    authors = _comment_authors(main_part)
    read: set[Any] = set()
    for number, slide in enumerate(main_part.presentation.slides, start=1):
        if slide.part in read:
            writer.omitted("repeated_parts", where=f"slide {number}")
            continue
        writer.begin_page(number)
        titles.append(_write_slide(slide, number, writer))
        writer.write_block("list", [*dict.fromkeys(_links(slide)), *_embedded(slide, number, writer)])
        _write_notes(slide, number, writer, read)
        writer.write_block("list", _comments(slide.part, authors))
        read.add(slide.part)
    stated, metadata = core_properties(archive)
    return writer.outline(
        title=sensible_title(stated) or next(filter(None, titles), writer.first_words), metadata=metadata
    )


def _write_slide(slide: Any, number: int, writer: OutlineWriter) -> str:
    """Write a slide and return its title, empty when it has none."""
    # What is given in several forms becomes the first, as the library reads none of them; strokes of a pen,
    # whose shapes it can't read, are removed.
    for repeated in list(slide._element.iter(f"{COMPATIBILITY}AlternateContent")):
        for child in next(repeated.iterchildren(f"{COMPATIBILITY}Choice"), ()):
            repeated.addprevious(child)
        repeated.getparent().remove(repeated)
    for stroke in list(slide._element.iter(f"{PRESENTATION}contentPart")):
        stroke.getparent().remove(stroke)
    title_shape = slide.shapes.title
    if title_shape is not None and not title_shape.has_text_frame:
        title_shape = None  # a picture
    title = one_line(" ".join(_lines(title_shape))) if title_shape is not None else ""
    writer.write_heading(title or f"Slide {number}", 1)
    _write_shapes(slide.shapes, title_shape, number, writer)
    return title


def _write_shapes(shapes: Any, written: Any, number: int, writer: OutlineWriter) -> None:
    """Write the shapes of a slide or of its notes, but for the one that is written already."""
    from pptx.exc import InvalidXmlError

    for shape in _shapes(shapes):
        if shape != written:
            try:
                _write_shape(shape, number, writer)
            except (InvalidXmlError, *ODD_SHAPE):
                writer.omitted("unreadable_parts", where=f"slide {number}")


def _links(slide: Any) -> Iterator[str]:
    """Yield a line for each link of a slide."""
    for link in slide._element.iter(f"{DRAWING}hlinkClick"):
        relation = slide.part.rels.get(link.get(RELATION_ID))
        run = link.getparent().getparent()
        if relation is not None and relation.is_external:
            yield link_line(run.findtext(f"{DRAWING}t") or "", relation.target_ref)


def _embedded(slide: Any, number: int, writer: OutlineWriter) -> Iterator[str]:
    """Yield a line for each file that is embedded in a slide, and report it as unread."""
    for embedded in slide._element.iter(f"{PRESENTATION}oleObj"):
        with suppress(KeyError, ValueError):  # the part is missing, or the object is a link
            yield embedded_line(slide.part.related_part(embedded.get(RELATION_ID)).partname)
            writer.omitted("embedded_files", where=f"slide {number}")


def _write_notes(slide: Any, number: int, writer: OutlineWriter, read: set[Any]) -> None:
    """Write the notes of a slide, those of several slides with the first."""
    if not slide.has_notes_slide or slide.notes_slide.part in read:
        return
    read.add(slide.notes_slide.part)
    shape = slide.notes_slide.notes_placeholder
    notes = "" if shape is None or shape.text_frame is None else shape.text_frame.text
    writer.write_block("paragraph", [NOTES_LABEL + notes] if notes.strip() else [])
    _write_shapes(slide.notes_slide.shapes, shape, number, writer)


def _comment_authors(main_part: Any) -> dict[str | None, str]:
    return {
        author.get("id"): author.get("name") or ""
        for root in _related(main_part, "/commentAuthors", "/authors")
        for author in root
    }


def _comments(part: Any, authors: Mapping[str | None, str]) -> Iterator[str]:
    """Yield the comments on a slide and the replies to them."""
    for root in _related(part, "/comments"):
        for comment in root.iter():
            if comment.get("authorId") is not None:
                inner = (each for child in comment for each in _own_elements(child))
                text = one_line(" ".join(each.text or "" for each in inner))
                if text:
                    yield comment_line(authors.get(comment.get("authorId"), ""), text)


def _own_elements(element: Any) -> Iterator[Any]:
    """Yield the elements with text in a comment, without those of its replies."""
    if not isinstance(element.tag, str):
        return
    if element.tag == f"{DRAWING}t" or element.tag.endswith("}text"):
        yield element
    elif not element.tag.endswith("}replyLst"):
        for child in element:
            yield from _own_elements(child)


def _related(part: Any, *kinds: str) -> Iterator[Any]:
    from pptx.oxml import parse_xml

    related = (each for each in part.rels.values() if not each.is_external)
    for target in dict.fromkeys(each.target_part for each in related if each.reltype.endswith(kinds)):
        yield parse_xml(target.blob)


def _in_reading_order(shapes: Any) -> Iterator[Any]:
    """Yield shapes in rows from the top, and in each row from the left."""
    row: list[tuple[int, int, Any]] = []
    for top, left, shape in sorted(((*_place(each), each) for each in shapes), key=itemgetter(0)):
        if row and top - row[0][0] >= ROW_EMU:
            yield from _from_left(row)
            row = []
        row.append((top, left, shape))
    yield from _from_left(row)


def _from_left(row: list[tuple[int, int, Any]]) -> Iterator[Any]:
    return (shape for _, _, shape in sorted(row, key=itemgetter(1)))


def _place(shape: Any) -> tuple[int, int]:
    """Return top and left of a shape, 0 where it states no valid ones."""
    from pptx.exc import InvalidXmlError

    with suppress(InvalidXmlError, *ODD_SHAPE):
        return int(shape.top or 0), int(shape.left or 0)
    return 0, 0


def _shapes(shapes: Any) -> Iterator[Any]:
    """Yield all shapes in reading order, those of a group after it."""
    for shape in _in_reading_order(shapes):
        yield shape
        yield from _shapes(getattr(shape, "shapes", ()))


def _write_shape(shape: Any, number: int, writer: OutlineWriter) -> None:
    from pptx.oxml import parse_xml

    if shape.has_text_frame and _is_furniture(shape):
        typed = sum(BESIDE_PAGE.fullmatch(line) is None for line in _lines(shape))
        writer.omitted("repeated_lines", typed, f"slide {number}")
    elif shape.has_text_frame:
        texts = list(_lines(shape))
        writer.write_block("list" if len(texts) > 1 else "paragraph", texts)
    elif shape.has_table:
        writer.write_table([cell.text for cell in row.cells] for row in shape.table.rows)
    elif shape.has_chart:
        with suppress(KeyError):
            write_chart(shape.chart._chartSpace, writer)
    elif not hasattr(shape, "shapes"):
        for relations in shape._element.iter(f"{DIAGRAM}relIds"):
            with suppress(KeyError):  # the part is missing
                data = shape.part.related_part(relations.get(DIAGRAM_ID))
                writer.write_block("list", diagram_texts(parse_xml(data.blob)))
    writer.write_block("paragraph", [described(shape._element._nvXxPr.cNvPr.get("descr"))])


def _lines(shape: Any) -> Iterator[str]:
    """Yield the paragraphs of a shape as lines with their depth."""
    for paragraph in shape.text_frame.paragraphs:
        pieces = (_piece(child) for child in paragraph._p)
        if text := one_line("".join(pieces)):
            yield "  " * paragraph.level + text


def _piece(child: Any) -> str:
    """Return the text of a run, a field, a line break or an equation of a paragraph."""
    if child.tag == EQUATION:
        return equation_text(child)
    if child.tag == f"{DRAWING}br":
        return " "
    return "".join(each.text or "" for each in child.iterchildren(f"{DRAWING}t"))


def _is_furniture(shape: Any) -> bool:
    """Return whether the shape repeats on every slide: date, page number, header, footer."""
    from pptx.enum.shapes import PP_PLACEHOLDER

    if not shape.is_placeholder:
        return False
    repeated = (
        PP_PLACEHOLDER.DATE,
        PP_PLACEHOLDER.SLIDE_NUMBER,
        PP_PLACEHOLDER.FOOTER,
        PP_PLACEHOLDER.HEADER,
    )
    return shape.placeholder_format.type in repeated
