"""Running heads and outline of a PDF's pages: paragraphs, bookmarks as headings, a wall before each page."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import pairwise

from ingest.parsers.pdf.bookmarks import headings_on
from ingest.parsers.pdf.marks import NOTE_SIZE
from ingest.parsers.pdf.paragraphs import (
    CLAUSE_END,
    goes_on,
    join_lines,
    paragraphs,
    split_sentence,
    without_hyphens,
    words_of,
)
from ingest.parsers.pdf.tables import split_tables
from ingest.parsers.pdf.types import Bookmark, PageText, TextLine
from ingest.parsers.types import Block, BlockKind, LineSpan, OutlineDraft, PageSpan

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


@dataclass(slots=True, kw_only=True)
class PagedText(OutlineDraft):
    """The pages so far."""

    #: words of the document, which decide about hyphens
    words: set[str]


@dataclass(slots=True)
class _Run:
    """Lines of a page that become one block."""

    kind: BlockKind
    lines: Sequence[TextLine]
    heading: Bookmark | None = None

    def is_body(self, shared: Set[str]) -> bool:
        """Return whether it is no header, footer or page number; `shared` are lines of two pages."""
        if len(self.lines) == 1 and self.lines[0].text in shared:
            return False
        return not all(line.is_running or PAGE_NUMBER.fullmatch(line.text) for line in self.lines)


def lay_out(pages: Sequence[PageText], bookmarks: Sequence[Bookmark]) -> PagedText:
    """Return the text of the pages in their order; a page without lines is skipped.

    A sentence that goes on over the end of a page is complete on the page where it begins.
    """
    by_page: defaultdict[int, list[Bookmark]] = defaultdict(list)
    for bookmark in bookmarks:
        by_page[bookmark.page].append(bookmark)
    paged = PagedText(words=words_of(line.text for page in pages for line in page.lines))
    laid_out = [
        (page, list(_page_runs(page, by_page[page.number]))) for page in pages if page.lines or page.extras
    ]
    for (_, before), (_, after) in pairwise(laid_out):
        _complete_sentence(before, after)
    for page, runs in laid_out:
        if runs or page.extras:
            _add_page(paged, page, runs)
    return paged


def _page_runs(page: PageText, bookmarks: Sequence[Bookmark]) -> Iterator[_Run]:
    for lines, heading in _runs(page, headings_on(page, bookmarks)):
        if heading is not None:
            yield _Run("heading", lines, heading)
            continue
        for is_table, part in split_tables(lines):
            for run in [part] if is_table else paragraphs(part):
                yield _Run("table" if is_table else "paragraph", run)


def _complete_sentence(before: Sequence[_Run], after: list[_Run]) -> None:
    """Move the end of a sentence from the first paragraph of a page to the last one of the page before."""
    texts = [{line.text for run in runs for line in run.lines} for runs in (before, after)]
    shared = texts[0] & texts[1]
    following = next((run for run in after if run.is_body(shared)), None)
    if following is None or following.kind != "paragraph":
        return
    height = NOTE_SIZE * following.lines[0].height  # notes at the foot of a page are smaller
    body = (run for run in reversed(before) if run.is_body(shared))
    last = next((run for run in body if any(line.height >= height for line in run.lines)), None)
    if last is None or last.kind != "paragraph" or not goes_on(last.lines, following.lines):
        return
    rest, kept = split_sentence(following.lines)
    if rest:
        last.lines = [*last.lines[:-1], *join_lines([last.lines[-1], *rest])]
        following.lines = kept
        if not kept:
            after.remove(following)


def _add_page(paged: PagedText, page: PageText, runs: Sequence[_Run]) -> None:
    if paged.lines:
        paged.walls.append(len(paged.lines) + 1)
    origin = PageSpan(page.number)
    for run in runs:
        texts = [without_hyphens(line.text, paged.words) for line in run.lines]
        if run.heading is None:
            _add_block(paged, texts, origin, kind=run.kind)
        else:
            title, level = run.heading.title, run.heading.level
            _add_block(paged, texts or [title], origin, kind="heading", text=title, level=level)
    if page.extras:
        _add_block(paged, page.extras, origin, kind="list")


def _runs(
    page: PageText, headings: Mapping[int, tuple[Bookmark, int]]
) -> Iterator[tuple[Sequence[TextLine], Bookmark | None]]:
    """Yield the page's lines, cut at its headings; each heading with its lines, which may be none."""
    done = 0
    for place in sorted(headings):
        heading, size = headings[place]
        yield page.lines[done:place], None
        yield page.lines[place : place + size], heading
        done = place + size
    yield page.lines[done:], None


def _add_block(
    paged: PagedText,
    lines: Sequence[str],
    origin: PageSpan,
    *,
    kind: BlockKind = "paragraph",
    text: str = "",
    level: int = 0,
) -> None:
    start = len(paged.lines) + 1
    paged.lines += [*lines, ""]
    paged.origins += [origin] * (len(lines) + 1)
    span = LineSpan(start, start + len(lines) - 1)
    breaks = tuple(
        start + n
        for n in range(1, len(lines))
        if kind == "list" or (kind == "paragraph" and CLAUSE_END.search(lines[n - 1]))
    )
    paged.blocks.append(Block(kind=kind, span=span, text=text, level=level, breaks=breaks))
