"""Chunker of prose: sections at headings, small ones merged, paragraphs packed up to the embedder's limit."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, takewhile

from ingest.chunking.lines import SizedLines, TokenCounts
from ingest.chunking.packing import pack
from ingest.chunking.types import (
    MAX_BREADCRUMB_TOKENS,
    MAX_TOKENS,
    MIN_SECTION_TOKENS,
    ChunkDraft,
    Drafts,
    SectionContext,
)
from ingest.parsers.types import Block, ParsedDocument
from search.retrieval.code.definitions import NAME_SEPARATOR, SEPARATOR

ELLIPSIS = "…"
#: characters of a title or heading in a breadcrumb
PART_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Breadcrumb:
    """A breadcrumb and its number of tokens."""

    text: str
    tokens: int
    #: False when parts were left out, so that the heading lines must be in the chunk's text
    is_complete: bool


def breadcrumb_of(title: str, headings: Sequence[str], counts: TokenCounts) -> Breadcrumb:
    """Return title and headings as a breadcrumb, without a first heading that repeats the title.

    Over MAX_BREADCRUMB_TOKENS the middle is left out first, then the ends of title and last heading.
    """
    if headings and headings[0].startswith(f"{title}{NAME_SEPARATOR}"):
        title, *headings = headings
    below = headings[1:] if headings and headings[0] == title else headings
    parts = [part for part in (title, *below) if part]
    text = SEPARATOR.join(parts)
    tokens = counts.count(text)
    if tokens <= MAX_BREADCRUMB_TOKENS and all(len(part) <= PART_CHARS for part in parts):
        return Breadcrumb(text=text, tokens=tokens, is_complete=True)
    text = _shorten(parts, counts)
    return Breadcrumb(text=text, tokens=counts.count(text), is_complete=False)


def _shorten(parts: Sequence[str], counts: TokenCounts) -> str:
    cut = [part[:PART_CHARS] for part in parts]
    first_kept = 1
    while first_kept < len(cut):
        middle = [] if first_kept == 1 else [ELLIPSIS]
        text = SEPARATOR.join([cut[0], *middle, *cut[first_kept:]])
        if counts.count(text) <= MAX_BREADCRUMB_TOKENS:
            return text
        first_kept += 1
    ends = cut[:1] if len(cut) == 1 else [cut[0], cut[-1]]
    room = (MAX_BREADCRUMB_TOKENS - 4) // len(ends)
    return SEPARATOR.join(_truncate(part, room, counts) for part in ends)


def _truncate(text: str, tokens: int, counts: TokenCounts) -> str:
    """Return the longest of `text` and its prefixes, by steps of a tenth, within `tokens`."""
    while text and counts.count(text + ELLIPSIS) > tokens:
        text = text[: len(text) * 9 // 10]
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Successive headings with the blocks up to the next heading; the start of a document has no heading."""

    #: In document order; no heading has blocks between it and the next.
    headings: tuple[Block, ...]
    body: tuple[Block, ...]
    #: The headings it is below, outermost first, and its own last.
    path: tuple[Block, ...]
    #: Of merged sections: the texts of their headings right below `path`.
    names: tuple[str, ...] = ()
    #: Whether text right below `path` is one of them.
    has_introduction: bool = False

    @property
    def headings_above(self) -> tuple[Block, ...]:
        """Return those of the first headings that all of the text is below."""
        above = tuple(takewhile(self.path.__contains__, self.headings))
        return above if self.body else above[: len(self.headings) - 1]

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Return headings and body."""
        return (*self.headings, *self.body)

    def followed_by(self, following: "Section") -> "Section":
        """Return the section of both, below the headings that they share."""
        shared = tuple(
            heading for heading, other in zip(self.path, following.path, strict=False) if heading is other
        )
        return Section(
            headings=self.headings,
            body=(*self.body, *following.blocks),
            path=shared,
            names=(*self._names_below(len(shared)), *following._names_below(len(shared))),
            has_introduction=len(self.path) == len(shared) and (self.has_introduction or not self.names),
        )

    def _names_below(self, depth: int) -> tuple[str, ...]:
        return self.names if len(self.path) == depth else (self.path[depth].text,)


def chunk_prose(
    parsed: ParsedDocument, counts: TokenCounts, max_tokens: int = MAX_TOKENS
) -> list[ChunkDraft]:
    """Return the chunks of a document with an outline, in document order.

    A section of less than MIN_SECTION_TOKENS shares a chunk with its neighbours under the same heading, if
    they fit. The headings that a chunk's text is below are in its breadcrumb, and their lines are further
    spans of the first such chunk; a breadcrumb that had to be shortened lacks some, which are text as all
    other heading lines are. Front matter is a further span of the first chunk, and text where the document
    has nothing else.
    """
    sized = SizedLines(parsed.outline.lines, counts)
    drafts = Drafts(parsed=parsed)
    front_matter = [block for block in parsed.outline.blocks if block.kind == "front_matter"]
    drafts.outline_lines = [block.span for block in front_matter]
    merger = _Merger(parsed, sized, max_tokens)
    for section in merger.merge(_sections(parsed.outline.blocks)):
        path, crumb = _name(section, parsed.title, counts)
        label = path[-1] if path else parsed.title
        context = SectionContext(heading_path=path, breadcrumb=crumb.text, section_label=label)
        body = section.blocks
        if crumb.is_complete:
            above = section.headings_above
            drafts.outline_lines.extend(heading.span for heading in above)
            body = body[len(above) :]
        for page in _split_at_walls(body, parsed.outline.walls):
            pack(page, context, max_tokens - crumb.tokens, sized=sized, drafts=drafts)
    if not drafts.chunks:
        drafts.outline_lines = []
        crumb = breadcrumb_of(parsed.title, (), counts)
        context = SectionContext(breadcrumb=crumb.text, section_label=parsed.title)
        pack(front_matter, context, max_tokens - crumb.tokens, sized=sized, drafts=drafts)
    return drafts.chunks


def _name(section: Section, title: str, counts: TokenCounts) -> tuple[tuple[str, ...], Breadcrumb]:
    """Return the texts of the headings, and the breadcrumb; those of merged sections are one, if it fits.

    Where the text begins above merged sections, they are named in the breadcrumb alone, beside the heading
    that is right above it.
    """
    path = tuple(heading.text for heading in section.path)
    if section.names:
        own = (path[-1:] or (title,)) if section.has_introduction else ()
        above = path[:-1] if section.has_introduction else path
        named = (*above, NAME_SEPARATOR.join((*own, *section.names)))
        crumb = breadcrumb_of(title, named, counts)
        if crumb.is_complete:
            return (path if section.has_introduction else named), crumb
    return path, breadcrumb_of(title, path, counts)


class _Merger:
    """Merger of small sections with their neighbours under the same heading."""

    def __init__(self, parsed: ParsedDocument, sized: SizedLines, max_tokens: int) -> None:
        self._parsed = parsed
        self._sized = sized
        self._max_tokens = max_tokens

    def merge(self, sections: Sequence[Section], depth: int = 0) -> list[Section]:
        """Return the sections, which share `depth` headings; a small one shares a chunk if another fits.

        Those below a further heading are merged first, and then as a whole with those beside it.
        """
        if len(sections) < 2:
            return list(sections)
        wholes: list[tuple[Section, bool]] = []
        for heading, group in groupby(sections, key=lambda each: each.path[depth : depth + 1]):
            below = list(group)
            parts = self.merge(below, depth + 1) if heading else below
            wholes += [(part, len(parts) == 1) for part in parts]
        # A section goes with the next one first; the last may go with the one before.
        forward = self._join(wholes, lambda one, _: self._is_small(one))
        return [section for section, _ in self._join(forward, lambda _, other: self._is_small(other))]

    def _join(
        self, wholes: Sequence[tuple[Section, bool]], joins: Callable[[Section, Section], bool]
    ) -> list[tuple[Section, bool]]:
        joined: list[tuple[Section, bool]] = []
        for section, is_whole in wholes:
            if joined and is_whole and joined[-1][1] and joins(joined[-1][0], section):
                both = joined[-1][0].followed_by(section)
                if self._fits(both):
                    joined[-1] = (both, True)
                    continue
            joined.append((section, is_whole))
        return joined

    def _is_small(self, section: Section) -> bool:
        first, last = section.body[0], section.body[-1]
        return self._sized.tokens(first.span.start, last.span.end) < MIN_SECTION_TOKENS

    def _fits(self, section: Section) -> bool:
        """Return whether a section is one chunk, on one page."""
        blocks, walls = section.blocks, self._parsed.outline.walls
        start, end = blocks[0].span.start, blocks[-1].span.end
        if walls and bisect_right(walls, start) != bisect_right(walls, end):
            return False
        if not self._sized.fits(start, end, self._max_tokens):
            return False
        _, crumb = _name(section, self._parsed.title, self._sized.counts)
        return self._sized.fits(start, end, self._max_tokens - crumb.tokens)


def _split_at_walls(blocks: Sequence[Block], walls: Sequence[int]) -> Iterator[Sequence[Block]]:
    """Yield the blocks of each page, because no chunk crosses a wall."""
    for _, page in groupby(blocks, key=lambda block: bisect_right(walls, block.span.start)):
        yield tuple(page)


def _sections(blocks: Sequence[Block]) -> list[Section]:
    """Return the sections that have text; a heading without text goes with the next section, or the last."""
    sections: list[Section] = []
    open_headings: tuple[Block, ...] = ()
    headings: tuple[Block, ...] = ()
    body: list[Block] = []

    def close() -> None:
        nonlocal headings
        if body:
            sections.append(Section(headings=headings, body=tuple(body), path=open_headings))
            headings = ()
            body.clear()

    for block in blocks:
        if block.kind == "heading":
            close()
            open_headings = (*(above for above in open_headings if above.level < block.level), block)
            headings = (*headings, block)
        elif block.kind != "front_matter":
            body.append(block)
    close()
    if headings and sections:
        sections[-1] = replace(sections[-1], body=(*sections[-1].body, *headings))
    elif headings:
        sections.append(Section(headings=headings, body=(), path=open_headings))
    return sections
