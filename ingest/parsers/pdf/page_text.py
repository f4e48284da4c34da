"""The lines of a PDF page, from its characters and the positions of the first and last of each line."""

import re
from collections.abc import Iterator
from typing import Any

from ingest.parsers.pdf.types import PageText, TextLine

#: mark of a word that continues in the next line, until the whole document is read
HYPHEN = "\x02"
#: pdfium's other sign for such a hyphen, and bullets of the fonts Symbol and Wingdings, which have no code
REPLACED = {"\ufffe": HYPHEN, "\uf0b7": "•", "\uf0a7": "•", "\uf076": "•", "\uf0d8": "•"}
#: code points that are no characters: control codes and surrogates
DROPPED = [*range(0x02), *range(0x03, 0x09), *range(0x0E, 0x20), *range(0xD800, 0xE000)]
CLEANED = str.maketrans(REPLACED | dict.fromkeys(map(chr, DROPPED)))
LINE = re.compile("[^\n\r\v\f\x85\u2028\u2029]+")
#: a part of a line: up to the end of a hyphenated word, whose rest is in the next line
PART = re.compile("[^\x02\ufffe]+[\x02\ufffe]\\S*|[^\x02\ufffe]+")
BEFORE_HYPHEN = re.compile("[^\x02\ufffe]+")
MAX_CODE = 0x10FFFF


def read_page(page: Any, number: int) -> PageText:
    """Return the text of a page of pypdfium2, `number` from 1."""
    text_page = page.get_textpage()
    try:
        _, bottom, _, top = page.get_bbox()
        return PageText(number=number, lines=tuple(_lines(text_page)), bottom=bottom, top=top)
    finally:
        text_page.close()


def _lines(text_page: Any) -> Iterator[TextLine]:
    text = _characters(text_page)
    for line in LINE.finditer(text):
        for part in PART.finditer(text, *line.span()):
            clean = " ".join(part[0].translate(CLEANED).split())
            if clean.strip(HYPHEN):
                yield _line(text_page, text, part, clean)


def _characters(text_page: Any) -> str:
    """Return the characters of the page, each at its index.

    They are read one by one, which takes a hundred times longer, only where the text is not one to one: for
    characters outside Unicode's first plane, and where pdfium adds or omits some.
    """
    from pypdfium2.raw import FPDFText_GetUnicode

    count = text_page.count_chars()
    text: str = text_page.get_text_range()
    if len(text) == count:
        return text
    codes = (FPDFText_GetUnicode(text_page.raw, index) for index in range(count))
    return "".join(chr(code) if code <= MAX_CODE else "\0" for code in codes)


def _line(text_page: Any, text: str, part: re.Match[str], clean: str) -> TextLine:
    """Return the line with its position, which is that of the text before a hyphen."""
    own = BEFORE_HYPHEN.match(text, *part.span())
    visible = part[0] if own is None else own[0]
    first = part.start() + len(visible) - len(visible.lstrip())
    last = max(first, part.start() + len(visible.rstrip()) - 1)
    boxes = [text_page.get_charbox(index, loose=True) for index in (first, last)]
    return TextLine(
        text=clean,
        left=boxes[0][0],
        top=max(top for _, _, _, top in boxes),
        bottom=min(bottom for _, bottom, _, _ in boxes),
    )
