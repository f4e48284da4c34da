"""OCR of PDF pages that are pictures of text."""

from dataclasses import replace
from typing import Any

from ingest.parsers.images.ocr import paragraph_starts, recognise
from ingest.parsers.pdf.page_objects import PageObjects
from ingest.parsers.pdf.types import PageText, TextLine

#: pixels of a page's longer side for OCR: 200 dots per inch on A4
RENDERED_SIDE = 2_340
#: words of a stamp, a header and a page number, and share of the page that a picture below them covers
STAMP_WORDS, PICTURE_SHARE = 30, 0.6
#: characters that no language has, and their share of a page, from which on it is read as a picture
MIN_UNREADABLE, UNREADABLE_SHARE = 10, 0.3


def is_scanned(page: Any, objects: PageObjects, text: PageText) -> bool:
    """Return whether the text of the page is a picture's, but for a stamp on it; an empty page has none."""
    if not text.has_text:
        return bool(objects.pictures)
    words = sum(line.text.count(" ") + 1 for line in text.lines)
    is_stamp = words <= STAMP_WORDS and not objects.invisible
    return is_stamp and objects.picture_share(page) >= PICTURE_SHARE


def is_unreadable(text: PageText) -> bool:
    """Return whether a good part of the page's text is in no language."""
    characters = sum(len(line.text) for line in text.lines)
    return text.unreadable >= max(MIN_UNREADABLE, UNREADABLE_SHARE * (characters + text.unreadable))


def recognise_page(page: Any, text: PageText) -> PageText:
    """Return the page with the lines that OCR finds beyond its text, and that text below them.

    A page on which OCR finds nothing stays as it is.
    """
    scale = RENDERED_SIDE / max(1.0, *page.get_size())
    found = recognise(page.render(scale=scale, rev_byteorder=True).to_pil().convert("RGB"))
    if not found:
        return text
    starts, known = set(paragraph_starts(found)), _key("".join(line.text for line in text.lines))
    lines = [
        TextLine(
            text=line.text,
            left=line.x / scale,
            right=(line.x + line.w) / scale,
            top=text.top - line.y / scale,
            bottom=text.top - (line.y + line.h) / scale,
            begins_paragraph=index in starts,
        )
        for index, line in enumerate(found)
        if not known or _key(line.text) not in known
    ]
    return replace(text, lines=(*lines, *text.lines), unreadable=0)


def _key(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())
