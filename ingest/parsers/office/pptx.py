"""Presentations: one page per slide, with its title as a heading, text, tables, charts and notes."""

import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from ingest.parsers.office.package import check_for_library, core_properties, open_office
from ingest.parsers.office.titles import FILE_NAME, sensible_title
from ingest.parsers.outline_writer import OutlineWriter, one_line
from ingest.parsers.types import FileType, Outline

NOTES_LABEL: Final = "Notes: "
DIAGRAM: Final = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
DRAWING: Final = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
RELATED: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}dm"
#: nodes of a diagram without text of their own
EMPTY_NODES: Final = frozenset({"pres", "parTrans", "sibTrans", "doc"})
#: shapes whose tops differ by less stand in a row: a centimetre
ROW_EMU: Final = 360_000
#: errors for kinds of charts that the library doesn't know, and for a part that is missing
UNKNOWN: Final = (NotImplementedError, ValueError, KeyError)
#: rows and columns of a chart's data
MAX_POINTS: Final = 500


def parse_pptx(content: bytes, file: FileType) -> Outline:
    """Return the readable text of a presentation in the order of its slides, hidden ones included.

    A slide without a title gets the heading `Slide N`, so that its text isn't filed under the slide
    before. A chart is its titles and its data, a diagram the list of its texts, a picture its description.
    Dates, page numbers and footers are left out.

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
    for shape in _shapes(_in_reading_order(slide.shapes)):
        if shape != title_shape:
            _write_shape(shape, writer)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text
        writer.write_block("paragraph", [NOTES_LABEL + notes] if notes.strip() else [])
    return title


def _in_reading_order(shapes: Any) -> Iterator[Any]:
    """Yield shapes in rows from the top, and in each row from the left."""
    row: list[Any] = []
    for shape in sorted(shapes, key=lambda each: each.top or 0):
        if row and (shape.top or 0) - (row[0].top or 0) >= ROW_EMU:
            yield from sorted(row, key=lambda each: each.left or 0)
            row = []
        row.append(shape)
    yield from sorted(row, key=lambda each: each.left or 0)


def _shapes(shapes: Any) -> Iterator[Any]:
    """Yield all shapes in their order, with groups replaced by their shapes."""
    for shape in shapes:
        inner = getattr(shape, "shapes", None)
        if inner is None:
            yield shape
        else:
            yield from _shapes(_in_reading_order(inner))


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
    elif shape.has_chart:
        with suppress(*UNKNOWN):
            _write_chart(shape.chart, writer)
    else:
        for relations in shape._element.iter(f"{DIAGRAM}relIds"):
            with suppress(*UNKNOWN):
                data = shape.part.related_part(relations.get(RELATED))
                writer.write_block("list", _diagram_texts(data.blob))
    described = one_line(shape._element._nvXxPr.cNvPr.get("descr") or "")
    if described and FILE_NAME.fullmatch(described) is None:
        writer.write_block("paragraph", [f"[{described}]"])


def _diagram_texts(content: bytes) -> Iterator[str]:
    """Yield the texts of a SmartArt diagram's nodes."""
    from pptx.oxml import parse_xml

    for node in parse_xml(content).iter(f"{DIAGRAM}pt"):
        if node.get("type") not in EMPTY_NODES:
            text = one_line(
                " ".join(
                    "".join(piece.text or "" for piece in paragraph.iter(f"{DRAWING}t"))
                    for paragraph in node.iter(f"{DRAWING}p")
                )
            )
            if text:
                yield text


def _write_chart(chart: Any, writer: OutlineWriter) -> None:
    """Write a chart's titles, and its data as a table of categories by series."""
    if chart.has_title:
        writer.write_block("paragraph", [chart.chart_title.text_frame.text])
    for axis in _axes(chart):
        if axis.has_title:
            writer.write_block("paragraph", [axis.axis_title.text_frame.text])
    for plot in chart.plots:
        series = list(plot.series)[:MAX_POINTS]
        columns = [list(each.values) for each in series]
        writer.write_table(
            [
                ["", *(each.name or "" for each in series)],
                *(
                    [str(category), *(_number(column, at) for column in columns)]
                    for at, category in enumerate(list(plot.categories)[:MAX_POINTS])
                ),
            ]
        )


def _axes(chart: Any) -> Iterator[Any]:
    for name in ("category_axis", "value_axis"):
        with suppress(ValueError):  # a pie has no axes
            yield getattr(chart, name)


def _number(values: Sequence[float | None], at: int) -> str:
    value = values[at] if at < len(values) else None
    return "" if value is None else format(value, ".15g")


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
