"""Pieces of code by its syntax tree: a chunk for each function and each member of a class.

Neighbours of SMALL_TOKENS or less share a chunk; a unit too long for one is cut between its members, and
where it has none, between its statements, the outermost first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ingest.chunking.lines import SizedLines
from ingest.chunking.prose import breadcrumb_of
from ingest.chunking.types import MAX_TOKENS
from ingest.chunking.windows import Windows
from ingest.parsers.types import CodeUnit, Syntax

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


#: tokens up to which a function, a member or the code between two shares a chunk with such neighbours
SMALL_TOKENS: Final = 64
#: characters of the label of a chunk of several units
NAMES_CHARS: Final = 80
#: cost of a cut before a line that begins no statement, and before a blank one; higher than any depth
_INSIDE_STATEMENT: Final = 1_000_000
_BEFORE_BLANK: Final = 2_000_000

Headings = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Lines of a chunk with their headings and label."""

    start: int
    end: int
    #: the enclosing units and the unit itself, outermost first: "class A", "method run"
    headings: Headings = ()
    label: str
    #: whether it belongs directly to the enclosing unit and to none of its members
    is_own: bool = False


def lines_label(start: int, end: int) -> str:
    """Return the label of code outside units."""
    return f"lines {start}-{end}" if end > start else f"line {start}"


class SyntaxCut:
    """Splitter of one file."""

    def __init__(self, syntax: Syntax, path: str, sized: SizedLines, max_tokens: int = MAX_TOKENS) -> None:
        self._syntax = syntax
        self._path = path
        self._sized = sized
        self._max_tokens = max_tokens
        self._rooms: dict[Headings, int] = {}

    def pieces(self) -> list[Piece]:
        """Return pieces that tile the file; none when all lines are blank."""
        if not any(line.strip() for line in self._sized.lines):
            return []
        return [
            replace(piece, label=lines_label(piece.start, piece.end)) if piece.is_own else piece
            for piece in self._split_unit((), 1, len(self._sized.lines), self._syntax.units)
        ]

    def _split_unit(
        self, headings: Headings, start: int, end: int, members: Sequence[CodeUnit]
    ) -> Iterator[Piece]:
        """Yield the pieces of a unit that is too long for a chunk, or of the file."""
        run: list[Segment] = []
        for segment in segments_of(self._sized, start, end, members):
            is_small = self._sized.fits(segment.start, segment.filled_end, SMALL_TOKENS)
            if run and not (is_small and self._fit_together([*run, segment], headings)):
                yield self._merge_segments(run, headings)
                run = []
            if is_small and self._fit_together([segment], headings):
                run.append(segment)
            else:
                yield from self._split_segment(segment, headings)
        if run:
            yield self._merge_segments(run, headings)

    def _split_segment(self, segment: Segment, headings: Headings) -> Iterator[Piece]:
        unit = segment.unit
        if unit is None:
            windows = Windows(self._sized, max_tokens=self._room(headings))
            for start, end in windows.tile(segment.start, segment.end, self._cut_cost):
                yield Piece(start=start, end=end, headings=headings, label="", is_own=True)
        elif self._fit_together([segment], headings):
            yield self._merge_segments([segment], headings)
        else:
            below = (*headings, _heading([unit]))
            yield from _label_parts(
                list(self._split_unit(below, segment.start, segment.end, unit.members)),
                unit.name or unit.kind,
            )

    def _fit_together(self, run: Sequence[Segment], headings: Headings) -> bool:
        room = self._room(_headings_of(run, headings))
        return self._sized.fits(run[0].start, run[-1].filled_end, room)

    def _merge_segments(self, run: Sequence[Segment], headings: Headings) -> Piece:
        units = [segment.unit for segment in run if segment.unit is not None]
        return Piece(
            start=run[0].start,
            end=run[-1].end,
            headings=_headings_of(run, headings),
            label=_names(units),
            is_own=not units,
        )

    def _room(self, headings: Headings) -> int:
        """Return the tokens of text that a chunk below `headings` may have."""
        if headings not in self._rooms:
            crumb = breadcrumb_of(self._path, headings, self._sized.counts)
            self._rooms[headings] = self._max_tokens - crumb.tokens
        return self._rooms[headings]

    def _cut_cost(self, end: int) -> int:
        """Return the cost of a cut after line `end`: the depth of the statement on the next line."""
        if not self._sized.lines[end].strip():
            return _BEFORE_BLANK
        return self._syntax.statements.get(end + 1, _INSIDE_STATEMENT)


def _label_parts(pieces: Sequence[Piece], name: str) -> Iterator[Piece]:
    """Label the pieces that belong to the unit itself with its name, numbered if there are several."""
    count = sum(piece.is_own for piece in pieces)
    number = 0
    for piece in pieces:
        number += piece.is_own
        label = name if count == 1 else f"{name} [part {number}/{count}]"
        yield replace(piece, label=label, is_own=False) if piece.is_own else piece


def _headings_of(run: Sequence[Segment], headings: Headings) -> Headings:
    units = [segment.unit for segment in run if segment.unit is not None]
    return (*headings, _heading(units)) if units else headings


def _heading(units: Sequence[CodeUnit]) -> str:
    """Return the names of units, after their kind if it is the same for all."""
    kinds = {unit.kind for unit in units}
    kind = f"{kinds.pop()} " if len(kinds) == 1 else ""
    return f"{kind}{_names(units)}".strip()


def _names(units: Sequence[CodeUnit]) -> str:
    joined = ""
    for name in dict.fromkeys(unit.name for unit in units if unit.name):
        longer = f"{joined}, {name}" if joined else name
        if joined and len(longer) > NAMES_CHARS:
            return f"{joined}, …"
        joined = longer
    return joined
