"""Outline of a PDF's pages: paragraphs, bookmarks as headings, a wall before each page."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ingest.parsers.pdf.bookmarks import headings_on
from ingest.parsers.pdf.paragraphs import CLAUSE_END, paragraphs, without_hyphens, words_of
from ingest.parsers.pdf.tables import split_tables
from ingest.parsers.pdf.types import Bookmark, PageText, TextLine
from ingest.parsers.types import Block, BlockKind, LineSpan, OutlineDraft, PageSpan


@dataclass(slots=True, kw_only=True)
class PagedText(OutlineDraft):
    """The pages so far."""

    #: words of the document, which decide about hyphens
    words: set[str]


def lay_out(pages: Sequence[PageText], bookmarks: Sequence[Bookmark]) -> PagedText:
    """Return the text of the pages in their order; a page without lines is skipped."""
    by_page: defaultdict[int, list[Bookmark]] = defaultdict(list)
    for bookmark in bookmarks:
        by_page[bookmark.page].append(bookmark)
    paged = PagedText(words=words_of(line.text for page in pages for line in page.lines))
    for page in pages:
        if page.lines or page.extras:
            _add_page(paged, page, by_page[page.number])
    return paged


def _add_page(paged: PagedText, page: PageText, bookmarks: Sequence[Bookmark]) -> None:
    if paged.lines:
        paged.walls.append(len(paged.lines) + 1)
    origin = PageSpan(page.number)
    for lines, heading in _runs(page, headings_on(page, bookmarks)):
        if heading is not None:
            texts = [without_hyphens(line.text, paged.words) for line in lines] or [heading.title]
            _add_block(paged, texts, origin, kind="heading", text=heading.title, level=heading.level)
            continue
        for is_table, part in split_tables(lines):
            for run in [part] if is_table else paragraphs(part):
                texts = [without_hyphens(line.text, paged.words) for line in run]
                _add_block(paged, texts, origin, kind="table" if is_table else "paragraph")
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
