"""OCR of PDF pages that are pictures of text."""

from dataclasses import replace
from typing import Any

from ingest.parsers.images.ocr import paragraph_starts, recognise
from ingest.parsers.pdf.types import PageText, TextLine

#: pixels of a page's longer side for OCR: 200 dots per inch on A4
RENDERED_SIDE = 2_340
#: depth of nested groups of objects in which pictures are searched
PICTURE_DEPTH = 3


def is_scanned(page: Any) -> bool:
    """Return whether the page of pypdfium2 has a picture; an empty page has none."""
    from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

    return next(page.get_objects(filter=[FPDF_PAGEOBJ_IMAGE], max_depth=PICTURE_DEPTH), None) is not None


def recognise_page(page: Any, empty: PageText) -> PageText:
    """Return the page with the lines that OCR finds in its picture."""
    scale = RENDERED_SIDE / max(1.0, *page.get_size())
    found = recognise(page.render(scale=scale, rev_byteorder=True).to_pil().convert("RGB"))
    starts = set(paragraph_starts(found))
    lines = (
        TextLine(
            text=line.text,
            left=line.x / scale,
            right=(line.x + line.w) / scale,
            top=empty.top - line.y / scale,
            bottom=empty.top - (line.y + line.h) / scale,
            begins_paragraph=index in starts,
        )
        for index, line in enumerate(found)
    )
    return replace(empty, lines=tuple(lines))
