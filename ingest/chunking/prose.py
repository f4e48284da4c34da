"""Chunker of prose: sections at headings, paragraphs packed up to the embedder's limit."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ingest.chunking.breadcrumbs import Breadcrumb, breadcrumb_of
from ingest.chunking.drafts import Drafts, SectionContext
from ingest.chunking.lines import SizedLines
from ingest.chunking.packing import pack
from ingest.chunking.tokens import TokenCounts
from ingest.chunking.types import MAX_TOKENS, ChunkDraft
from ingest.parsers.types import Block, ParsedDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading, or the start of a document, with the blocks up to the next heading."""

    heading: Block | None
    body: tuple[Block, ...]
    #: headings from the outermost to this one
    path: tuple[str, ...]
    has_subsections: bool


def chunk_prose(
    parsed: ParsedDocument, counts: TokenCounts, max_tokens: int = MAX_TOKENS
) -> list[ChunkDraft]:
    """Return the chunks of a document with an outline, in document order.

    A heading line is in no text: its lines are a further span of the section's first chunk. A
    section without a body passes them on to its first subsection; without one, or where the
    breadcrumb had to be shortened, the heading line and those passed on to it are text. Front
    matter is a further span of the first chunk, and text where the document has nothing else.
    """
    sized = SizedLines(parsed.outline.lines, counts)
    drafts = Drafts(parsed=parsed)
    front_matter = [block for block in parsed.outline.blocks if block.kind == "front_matter"]
    drafts.outline_lines = [block.span for block in front_matter]
    pending_headings: list[Block] = []
    for section in _sections(parsed.outline.blocks):
        crumb = breadcrumb_of(parsed.title, section.path, counts)
        label = section.path[-1] if section.path else parsed.title
        context = SectionContext(heading_path=section.path, breadcrumb=crumb.text, section_label=label)
        for body in _split_at_walls(_body(section, crumb, pending_headings, drafts), parsed.outline.walls):
            pack(body, context, max_tokens - crumb.tokens, sized=sized, drafts=drafts)
    if not drafts.chunks:
        drafts.outline_lines = []
        crumb = breadcrumb_of(parsed.title, (), counts)
        context = SectionContext(breadcrumb=crumb.text, section_label=parsed.title)
        pack(front_matter, context, max_tokens - crumb.tokens, sized=sized, drafts=drafts)
    return drafts.chunks


def _split_at_walls(blocks: Sequence[Block], walls: Sequence[int]) -> Iterator[Sequence[Block]]:
    """Yield the blocks of each page, because no chunk crosses a wall."""
    for _, page in groupby(blocks, key=lambda block: bisect_right(walls, block.span.start)):
        yield tuple(page)


def _body(
    section: Section, crumb: Breadcrumb, pending_headings: list[Block], drafts: Drafts
) -> tuple[Block, ...]:
    """Return the blocks whose lines are text; other heading lines become spans of the next chunk.

    `pending_headings` has the headings right above that have no chunk yet.
    """
    if section.heading is None:
        return section.body
    headings = (*pending_headings, section.heading)
    pending_headings.clear()
    if not crumb.is_complete:
        return (*headings, *section.body)
    if not section.body and section.has_subsections:
        pending_headings.extend(headings)
        return ()
    in_breadcrumb = headings if section.body else headings[:-1]
    drafts.outline_lines.extend(heading.span for heading in in_breadcrumb)
    return section.body or headings[-1:]


def _sections(blocks: Sequence[Block]) -> Iterator[Section]:
    headings = [index for index, block in enumerate(blocks) if block.kind == "heading"]
    starts = [-1, *headings]
    open_headings: list[Block] = []
    for start, end in zip(starts, [*headings, len(blocks)], strict=True):
        body = tuple(block for block in blocks[start + 1 : end] if block.kind != "front_matter")
        heading = blocks[start] if start >= 0 else None
        if heading is not None:
            open_headings = [above for above in open_headings if above.level < heading.level]
            open_headings.append(heading)
        elif not body:
            continue
        following = blocks[end] if end < len(blocks) else None
        yield Section(
            heading=heading,
            body=body,
            path=tuple(above.text for above in open_headings),
            has_subsections=heading is not None and following is not None and following.level > heading.level,
        )
