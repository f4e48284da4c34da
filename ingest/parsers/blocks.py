"""Tiling of lines with blocks: every non-blank line lies in one, and none ends with blank lines."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ingest.parsers.text import paragraphs
from ingest.parsers.types import Block, LineSpan


def cover_lines(lines: Sequence[str], offset: int, blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks, each without trailing blank lines, and paragraphs for lines that lie in none.

    Args:
        lines: all lines of the outline.
        offset: number of lines before the part of the file that the blocks cover.
        blocks: in order of their lines; one that begins inside its predecessor is cut to the rest.
    """
    covered = offset
    for block in blocks:
        start, end = max(block.span.start, covered + 1), block.span.end
        while end >= start and not lines[end - 1].strip():
            end -= 1
        if end < start:
            continue
        for span in paragraphs(lines, covered + 1, start - 1):
            yield Block(kind="paragraph", span=span)
        yield block if block.span == LineSpan(start, end) else _trim_block(block, LineSpan(start, end))
        covered = end
    for span in paragraphs(lines, covered + 1, len(lines)):
        yield Block(kind="paragraph", span=span)


def shift_block(block: Block, by: int) -> Block:
    """Return the same block `by` lines further down."""
    span = LineSpan(block.span.start + by, block.span.end + by)
    return replace(block, span=span, breaks=tuple(line + by for line in block.breaks))


def _trim_block(block: Block, span: LineSpan) -> Block:
    breaks = tuple(line for line in block.breaks if span.start < line <= span.end)
    return replace(block, span=span, breaks=breaks)
