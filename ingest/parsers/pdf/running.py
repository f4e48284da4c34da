"""Headers and footers: lines at the edge of a page that most pages repeat."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from ingest.parsers.pdf.types import PageText, TextLine

#: share of a page's height, above and below, in which they stand
EDGE_SHARE = 0.12
#: pages that repeat a line: a share of all (a book has one for the left and one for the right), and at least
MIN_PAGES_SHARE, MIN_PAGES = 0.4, 3
MAX_CHARS = 150
#: how far the numbers printed on the pages may be from those counted; further away they number something else
MAX_OFFSET = 100
DIGITS = re.compile(r"\d+")
PAGE_WORD = r"(?:pages?|pg|p|seite|s|p[áa]gina|p[áa]g|side|sida|strona|str|стр|страница)\.?\s*"
#: a line that says nothing but the number of its page: `- 3 -`, `Page 3`, `3 / 10`, `Seite 3 von 10`
PAGE_NUMBER = re.compile(
    rf"[\W_]*(?:{PAGE_WORD})?\d+(?:\s*(?:/|\||of|von|de|di|sur|van|из)\s*\d+)?[\W_]*", re.I
)

#: what lines of several pages have in common: their words, or words and how far a number is from the page's
Mark = str | tuple[str, int]


def without_running_lines(pages: Sequence[PageText]) -> list[PageText]:
    """Return the pages without repeated headers and footers; the first of each stays, so that its words are
    found.

    Lines that say the number of their page and no more go everywhere. Other lines are the same when nothing
    but the number of the page differs: `Invoice 1001` and `Invoice 1002` both stay.
    """
    counts = Counter(
        mark for page in pages for mark in {mark for line in _edge_lines(page) for mark in _marks(line, page)}
    )
    needed = max(MIN_PAGES, MIN_PAGES_SHARE * len(pages))
    running = {mark for mark, count in counts.items() if count >= needed}
    seen: set[Mark] = set()
    return [replace(page, lines=tuple(_kept(page, running, seen))) for page in pages]


def _kept(page: PageText, running: Set[Mark], seen: set[Mark]) -> Iterator[TextLine]:
    at_edge = set(map(id, _edge_lines(page)))
    for line in page.lines:
        marks = running & _marks(line, page) if id(line) in at_edge else set()
        if not marks or (seen.isdisjoint(marks) and not PAGE_NUMBER.fullmatch(line.text)):
            yield line
        seen |= marks


def _edge_lines(page: PageText) -> Iterator[TextLine]:
    depth = EDGE_SHARE * (page.top - page.bottom)
    for line in page.lines:
        if len(line.text) <= MAX_CHARS and (line.bottom > page.top - depth or line.top < page.bottom + depth):
            yield line


def _marks(line: TextLine, page: PageText) -> set[Mark]:
    """None for rows of numbers at the foot of a table: they look alike too."""
    text = line.text.casefold()
    shape = DIGITS.sub("#", text)
    if PAGE_NUMBER.fullmatch(text):
        return {shape}
    if not any(character.isalpha() for character in text):
        return set()
    offsets = {int(number) - page.number for number in DIGITS.findall(text)}
    return {text, *((shape, offset) for offset in offsets if abs(offset) <= MAX_OFFSET)}
