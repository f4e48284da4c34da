"""HTML pages as readable lines, each with its lines in the file."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ingest.parsers.decode import decode, split_lines
from ingest.parsers.markup.html_reader import HEADINGS, PagePart, PageReader, Run
from ingest.parsers.omissions import Omission, compare_words
from ingest.parsers.stated_metadata import stated_metadata
from ingest.parsers.titles import TITLE_CHARS
from ingest.parsers.types import Block, BlockKind, FileType, LineSpan, Outline, OutlineDraft

KINDS: dict[str, BlockKind] = {"li": "list", "dd": "list", "dt": "list", "blockquote": "quote"}
#: share of a page's characters that a part marked as the main one needs to be taken for it
MAIN_SHARE = 0.1
#: share of the main part's characters that an article in it needs to be taken for the whole part
ARTICLE_SHARE = 0.5
#: characters below which a page may consist of navigation only
PAGE_CHARS = 200
#: what belongs to an article that it stands beside: its heading, and captions of pictures
ABOVE_ARTICLE = frozenset({"h1", "figcaption"})
PILCROW = "¶"
#: words of menus, dialogs and forms that a page may hide in its main part
MENU_WORDS = 50


def parse_html(content: bytes, file: FileType) -> Outline:
    """Return the readable text of an HTML page: headings, paragraphs, list items, table rows, code.

    Parts of the site are left out: scripts, navigation, side bars, footers, banners; and where the page
    marks its main part, all others. A page that would have next to no text left, because of a tag that is
    never closed or an ambiguous class name, is read whole.
    """
    reader = PageReader()
    reader.read(text := "\n".join(split_lines(decode(content))))
    main = _main_part(reader.runs)
    # The page's header is left out, unless that has the title.
    body = [run for run in reader.runs if not run.part & PagePart.HEADER]
    runs = main or (body if any(run.tag == "h1" for run in body) else reader.runs)
    size = sum(run.size for run in runs)
    if reader.is_cut_short or (not main and size < PAGE_CHARS and reader.skipped_chars > size):
        whole = PageReader(whole=True)
        whole.read(text)
        return _outline(whole.runs, reader)
    outline = _outline(runs, reader)
    return replace(outline, omissions=_omissions(reader, runs, outline.lines))


def _omissions(reader: PageReader, kept: Sequence[Run], lines: Sequence[str]) -> tuple[Omission, ...]:
    """Return the size of the parts of the site, and whether too much other text is among them."""
    reader.omissions.omitted(
        "site_parts", sum(run.size for run in reader.runs) - sum(run.size for run in kept)
    )
    omissions = reader.omissions.listed()
    return (
        (*omissions, *compare_words(" ".join(reader.guessed), lines, MENU_WORDS))
        if reader.guessed
        else omissions
    )


def read_fragment(text: str) -> "PageText":
    """Return the text of HTML in another document, all parts of it; origins are lines of `text`."""
    reader = PageReader(whole=True)
    reader.read(text)
    return _page_text(reader.runs)


def _main_part(runs: Sequence[Run]) -> Sequence[Run]:
    """Return the runs of the part marked as the main one, none without one that has a part of the text."""
    main = _runs_in(runs, PagePart.MAIN)
    if main and _size(main) >= MAIN_SHARE * _size(runs):
        if _size(_runs_in(main, PagePart.ARTICLE)) < ARTICLE_SHARE * _size(main):
            return main
        return [run for run in main if run.part & PagePart.ARTICLE or run.tag in ABOVE_ARTICLE]
    article = _runs_in(runs, PagePart.ARTICLE)
    return article if _size(article) >= MAIN_SHARE * _size(runs) else ()


def _runs_in(runs: Iterable[Run], part: PagePart) -> list[Run]:
    return [run for run in runs if run.part & part]


def _size(runs: Iterable[Run]) -> int:
    return sum(run.own_chars for run in runs if not run.part & PagePart.LIKELY)


def _outline(runs: Iterable[Run], reader: PageReader) -> Outline:
    page = _page_text(runs)
    return page.outline(
        title=_title(reader.title, page.blocks),
        tags=tuple(dict.fromkeys(reader.tags)),
        metadata={
            **({"description": reader.description} if reader.description else {}),
            **stated_metadata(reader.stated),
        },
    )


def _title(stated: str | None, blocks: Iterable[Block]) -> str | None:
    """Return the stated title, or the first h1 where the title only adds names of the site to it."""
    heading = next((block.text for block in blocks if block.kind == "heading" and block.level == 1), None)
    if stated is None or not heading:
        return stated
    is_short = len(heading) <= TITLE_CHARS
    return heading if is_short and re.search(rf"(?<!\w){re.escape(heading)}(?!\w)", stated) else stated


def _page_text(runs: Iterable[Run]) -> "PageText":
    page = PageText()
    for run in runs:
        page.add(run)
    return page


@dataclass(slots=True)
class PageText(OutlineDraft):
    """Lines and blocks of the runs added so far."""

    table: int = 0

    def add(self, run: Run) -> None:
        """Append a run as a block of its own, a row to the block of the rows above it, a definition to its
        term.
        """
        if run.is_definition and self.blocks:
            self._define(run)
            return
        joins = run.table > 0 and run.table == self.table
        self.table = run.table
        if self.lines and not joins:
            self.lines.append("")
            self.origins.append(run.lines[0][1])
        start = len(self.lines) + 1
        for text, origin in run.lines:
            self.lines.append(text)
            self.origins.append(origin)
        if joins:
            start = self.blocks.pop().span.start
        self.blocks.append(self._block(run, LineSpan(start, len(self.lines))))

    def _define(self, run: Run) -> None:
        """Append a definition to the line of its term, which is the last one."""
        (text, place), *further = run.lines
        self.lines[-1] = f"{self.lines[-1].removesuffix(PILCROW).rstrip().removesuffix(':')}: {text}"
        self.origins[-1] = LineSpan.around((self.origins[-1], place))
        for line, origin in further:
            self.lines.append(line)
            self.origins.append(origin)
        term = self.blocks.pop()
        self.blocks.append(replace(term, span=LineSpan(term.span.start, len(self.lines))))

    def _block(self, run: Run, span: LineSpan) -> Block:
        if run.table:
            return Block(kind="table", span=span)
        if run.tag in HEADINGS:
            text = " ".join(self.lines[span.start - 1 : span.end]).removesuffix(PILCROW).rstrip()
            return Block(kind="heading", span=span, text=text, level=int(run.tag[1]))
        if run.is_preformatted:
            return Block(kind="code", span=span, language=run.language)
        return Block(kind=KINDS.get(run.tag, "paragraph"), span=span)
