"""Outline of a PDF's pages: paragraphs, bookmarks as headings, a wall before each page."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
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
from ingest.parsers.pdf.running_heads import PAGE_NUMBER
from ingest.parsers.pdf.tables import split_tables
from ingest.parsers.pdf.types import Bookmark, PageText, TextLine
from ingest.parsers.types import Block, BlockKind, LineSpan, OutlineDraft, PageSpan


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
