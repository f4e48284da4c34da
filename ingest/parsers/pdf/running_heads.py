"""Running headers and footers: lines at the edge of a page that most pages repeat."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from ingest.parsers.pdf.types import PageText, TextLine

#: share of a page's height, at top and bottom, that may hold them
EDGE_SHARE = 0.12
#: pages that repeat a line: share of all (a book has one for left and one for right pages), and minimum
MIN_PAGES_SHARE, MIN_PAGES = 0.4, 3
MAX_CHARS = 150
#: largest offset of printed page numbers from the counted ones; a larger one numbers something else
MAX_OFFSET = 100
DIGITS = re.compile(r"\d+")
PAGE_WORD = r"(?:pages?|pg|p|seite|s|p[áa]gina|p[áa]g|side|sida|strona|str|стр|страница)\.?\s*"
#: a line of nothing but its page's number: `- 3 -`, `Page 3`, `3 / 10`, `Seite 3 von 10`
PAGE_NUMBER = re.compile(
    rf"[\W_]*(?:{PAGE_WORD})?\d+(?:\s*(?:/|\||of|von|de|di|sur|van|из)\s*\d+)?[\W_]*", re.I
)

#: key that running lines of several pages share: the text, or its shape and a number's offset from the page's
Mark = str | tuple[str, int]


def without_running_lines(pages: Sequence[PageText]) -> list[PageText]:
    """Return the pages without repeated headers and footers; the first of each stays, to be searchable.

    Lines of nothing but their page's number are removed everywhere. Other lines are repeated when only the
    page's number differs: `Invoice 1001` and `Invoice 1002` both stay.
    """
    counts = Counter(
        mark for page in pages for mark in {mark for line in _edge_lines(page) for mark in _marks(line, page)}
    )
    needed = max(MIN_PAGES, MIN_PAGES_SHARE * len(pages))
    running = {mark for mark, count in counts.items() if count >= needed}
    seen: set[Mark] = set()
    return [replace(page, lines=tuple(_remaining_lines(page, running, seen))) for page in pages]


def _remaining_lines(page: PageText, running: Set[Mark], seen: set[Mark]) -> Iterator[TextLine]:
    at_edge = set(map(id, _edge_lines(page)))
    for line in page.lines:
        marks = running & _marks(line, page) if id(line) in at_edge else set()
        if not marks:
            yield line
        elif seen.isdisjoint(marks) and not PAGE_NUMBER.fullmatch(line.text):
            yield replace(line, is_running=True)
        seen |= marks


def _edge_lines(page: PageText) -> Iterator[TextLine]:
    depth = EDGE_SHARE * (page.top - page.bottom)
    for line in page.lines:
        if len(line.text) <= MAX_CHARS and (line.bottom > page.top - depth or line.top < page.bottom + depth):
            yield line


def _marks(line: TextLine, page: PageText) -> set[Mark]:
    """Return the keys of a line; none for rows of numbers at the foot of a table, which look alike too."""
    text = line.text.casefold()
    shape = DIGITS.sub("#", text)
    if PAGE_NUMBER.fullmatch(text):
        return {shape}
    if not any(character.isalpha() for character in text):
        return set()
    offsets = {int(number) - page.number for number in DIGITS.findall(text)}
    return {text, *((shape, offset) for offset in offsets if abs(offset) <= MAX_OFFSET)}
