"""Presentations: one page per slide, with its title as a heading, text, tables and the speaker's notes."""

import io
from collections.abc import Iterator
from typing import Any, Final

from ingest.parsers.office.package import check_for_library, core_properties, open_office
from ingest.parsers.office.titles import sensible_title
from ingest.parsers.outline_writer import OutlineWriter, one_line
from ingest.parsers.types import FileType, Outline

NOTES_LABEL: Final = "Notes: "


def parse_pptx(content: bytes, file: FileType) -> Outline:
    """Return the readable text of a presentation in the order of its slides, hidden ones included.

    A slide without a title gets the heading `Slide N`, so that its text isn't filed under the slide
    before. Dates, page numbers and footers are left out.

    Raises:
        ParseRefused: see `open_office` and `check_for_library`.
    """
    archive = open_office(content, "pptx")
    check_for_library(archive, as_tree=True)
    from pptx.package import Package

    main_part: Any = Package.open(io.BytesIO(content)).main_document_part
    writer = OutlineWriter()
    titles: list[str] = []
    for number, slide in enumerate(main_part.presentation.slides, start=1):
        writer.begin_page(number)
        titles.append(_write_slide(slide, number, writer))
    properties = core_properties(archive)
    return Outline(
        lines=writer.lines,
        blocks=writer.blocks,
        origins=writer.origins,
        walls=writer.walls,
        title=sensible_title(properties.title) or next(filter(None, titles), writer.first_words),
        metadata=properties.metadata,
    )


def _write_slide(slide: Any, number: int, writer: OutlineWriter) -> str:
    """Write a slide and return its title, empty when it has none."""
    title_shape = slide.shapes.title
    title = one_line(title_shape.text_frame.text) if title_shape is not None else ""
    writer.write_heading(title or f"Slide {number}", 1)
    for shape in _shapes(slide.shapes):
        if shape != title_shape:
            _write_shape(shape, writer)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text
        writer.write_block("paragraph", [NOTES_LABEL + notes] if notes.strip() else [])
    return title


def _shapes(shapes: Any) -> Iterator[Any]:
    """Yield all shapes in their order, with groups replaced by their shapes."""
    for shape in shapes:
        inner = getattr(shape, "shapes", None)
        if inner is None:
            yield shape
        else:
            yield from _shapes(inner)


def _write_shape(shape: Any, writer: OutlineWriter) -> None:
    if shape.has_text_frame and not _is_furniture(shape):
        texts = [
            "  " * paragraph.level + one_line(paragraph.text)
            for paragraph in shape.text_frame.paragraphs
            if paragraph.text.strip()
        ]
        writer.write_block("list" if len(texts) > 1 else "paragraph", texts)
    elif shape.has_table:
        writer.write_table([cell.text for cell in row.cells] for row in shape.table.rows)


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
