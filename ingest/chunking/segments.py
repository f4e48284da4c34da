"""Segments of a code unit: its members and the code between them, as runs of lines that tile it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ingest.chunking.lines import SizedLines
from ingest.parsers.types import CodeUnit

#: tokens up to which code between two members (`}`, `private:`) is joined to one of them
TINY_TOKENS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A member, or code between members, with the blank lines below it."""

    start: int
    end: int
    #: the last line that is not blank
    filled_end: int
    #: the member, or None
    unit: CodeUnit | None = None


def segments_of(sized: SizedLines, start: int, end: int, members: Sequence[CodeUnit]) -> list[Segment]:
    """Return segments that tile lines `start` to `end`, of which not all are blank."""
    filled = [
        Segment(start=first, end=last, filled_end=filled_end, unit=unit)
        for first, last, unit in _runs(start, end, members)
        if (filled_end := _last_filled(sized, first, last)) is not None
    ]
    return _merge_tiny(sized, _extend_over_blanks(sized, start, end, filled))


def _runs(start: int, end: int, members: Sequence[CodeUnit]) -> Iterator[tuple[int, int, CodeUnit | None]]:
    """Yield the lines of members and those between them."""
    line = start
    for unit in members:
        if line < unit.span.start:
            yield line, unit.span.start - 1, None
        yield max(line, unit.span.start), unit.span.end, unit
        line = unit.span.end + 1
    if line <= end:
        yield line, end, None


def _extend_over_blanks(sized: SizedLines, start: int, end: int, filled: Sequence[Segment]) -> list[Segment]:
    """Extend each segment over the blank lines below it, and the first over those above it."""
    starts = [start, *(_first_filled(sized, segment) for segment in filled[1:])]
    ends = [*(following - 1 for following in starts[1:]), end]
    return [
        replace(segment, start=first, end=last)
        for segment, first, last in zip(filled, starts, ends, strict=True)
    ]


def _merge_tiny(sized: SizedLines, segments: Sequence[Segment]) -> list[Segment]:
    """Merge tiny segments between members with the segment below, the last one with that above."""
    merged: list[Segment] = []
    start: int | None = None
    for index, segment in enumerate(segments):
        first = segment.start if start is None else start
        is_tiny = segment.unit is None and sized.fits(segment.start, segment.filled_end, TINY_TOKENS)
        start = None
        if is_tiny and index + 1 < len(segments):
            start = first
        elif is_tiny and merged:
            merged[-1] = replace(merged[-1], end=segment.end, filled_end=segment.filled_end)
        else:
            merged.append(replace(segment, start=first))
    return merged


def _first_filled(sized: SizedLines, segment: Segment) -> int:
    line = segment.start
    while not sized.lines[line - 1].strip():
        line += 1
    return line


def _last_filled(sized: SizedLines, start: int, end: int) -> int | None:
    return next((line for line in range(end, start - 1, -1) if sized.lines[line - 1].strip()), None)
