"""Prose: sections at headings, paragraphs packed up to the embedder's limit."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ingest.chunking.breadcrumbs import Breadcrumb, breadcrumb_of
from ingest.chunking.drafts import Drafts, Place
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
    """Chunks of a document with an outline, in document order.

    A heading line is in no text: its lines are a further span of the section's first chunk. A
    section without a body hands them on to its first subsection; without one, or where the
    breadcrumb had to be shortened, the heading line and those handed on to it are text. Front
    matter is a further span of the first chunk, and text where it is all there is.
    """
    sized = SizedLines(parsed.outline.lines, counts)
    drafts = Drafts(parsed=parsed)
    front_matter = [block for block in parsed.outline.blocks if block.kind == "front_matter"]
    drafts.outline_lines = [block.span for block in front_matter]
    handed_on: list[Block] = []
    for section in _sections(parsed.outline.blocks):
        crumb = breadcrumb_of(parsed.title, section.path, counts)
        label = section.path[-1] if section.path else parsed.title
        place = Place(heading_path=section.path, breadcrumb=crumb.text, section_label=label)
        for body in _on_pages(_body(section, crumb, handed_on, drafts), parsed.outline.walls):
            pack(body, place, max_tokens - crumb.tokens, sized=sized, drafts=drafts)
    if not drafts.chunks:
        drafts.outline_lines = []
        crumb = breadcrumb_of(parsed.title, (), counts)
        place = Place(breadcrumb=crumb.text, section_label=parsed.title)
        pack(front_matter, place, max_tokens - crumb.tokens, sized=sized, drafts=drafts)
    return drafts.chunks


def _on_pages(blocks: Sequence[Block], walls: Sequence[int]) -> Iterator[Sequence[Block]]:
    """Return the blocks of each page: no chunk reaches over a wall."""
    for _, page in groupby(blocks, key=lambda block: bisect_right(walls, block.span.start)):
        yield tuple(page)


def _body(section: Section, crumb: Breadcrumb, handed_on: list[Block], drafts: Drafts) -> tuple[Block, ...]:
    """Return the blocks whose lines are text; other heading lines are left to the next chunk.

    `handed_on` has the headings right above that wait for a chunk whose breadcrumb says them.
    """
    if section.heading is None:
        return section.body
    headings = (*handed_on, section.heading)
    handed_on.clear()
    if not crumb.is_complete:
        return (*headings, *section.body)
    if not section.body and section.has_subsections:
        handed_on.extend(headings)
        return ()
    said = headings if section.body else headings[:-1]
    drafts.outline_lines.extend(heading.span for heading in said)
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
