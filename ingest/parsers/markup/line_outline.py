"""Outline of a text format, written block by block; each readable line has its line in the file."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ingest.parsers.types import Block, BlockKind, LineSpan, Outline, OutlineDraft

#: readable text, and its line in the file
PlacedLine = tuple[str, int]


@dataclass(slots=True)
class LineOutline(OutlineDraft):
    """Blocks so far, separated by blank lines, and the lines of the open one."""

    _kind: BlockKind = "paragraph"
    _open: list[PlacedLine] = field(default_factory=list)

    def add(self, text: str, number: int, kind: BlockKind = "paragraph") -> None:
        """Add a line to the open block, which another kind ends."""
        if self._open and kind != self._kind:
            self.end_block()
        self._kind = kind
        if text.strip():
            self._open.append((text.rstrip(), number))

    def extend(self, text: str) -> None:
        """Append text to the last line of the open block."""
        if self._open:
            before, number = self._open[-1]
            self._open[-1] = (f"{before} {text.strip()}", number)

    @property
    def open_kind(self) -> BlockKind | None:
        """Return the kind of the open block, None without one."""
        return self._kind if self._open else None

    def end_block(self) -> None:
        """End the open block; every line of a list or table may begin a chunk."""
        placed, self._open = self._open, []
        self.add_block(self._kind, placed)

    def add_heading(self, text: str, level: int, number: int) -> None:
        """Add a heading; nothing for an empty text."""
        self.end_block()
        text = " ".join(text.split())
        if text:
            self._write([(text, number)], Block(kind="heading", span=LineSpan(1, 1), text=text, level=level))

    def add_block(self, kind: BlockKind, placed: Sequence[PlacedLine], language: str | None = None) -> None:
        """Add a whole block, without blank lines at its ends."""
        if self._open:
            self.end_block()
        filled = [index for index, (line, _) in enumerate(placed) if line.strip()]
        if filled:
            placed = placed[filled[0] : filled[-1] + 1]
            self._write(placed, Block(kind=kind, span=LineSpan(1, 1), language=language))

    def finish(self, *, title: str | None, metadata: Mapping[str, Any], tags: Sequence[str] = ()) -> Outline:
        """End the open block, and return the outline."""
        self.end_block()
        title = " ".join(title.split()) or None if title else None
        return self.outline(title=title, metadata=metadata, tags=tuple(tags))

    def _write(self, placed: Sequence[PlacedLine], block: Block) -> None:
        if self.lines:
            self.lines.append("")
            self.origins.append(self.origins[-1])
        start = len(self.lines) + 1
        self.lines += [line for line, _ in placed]
        self.origins += [LineSpan(number, number) for _, number in placed]
        self.blocks.append(replace(block, span=LineSpan(start, len(self.lines))))


def table_row(cells: Iterable[str]) -> str:
    """Return a row as a line."""
    return " | ".join(" ".join(cell.split()) for cell in cells)


def next_after(places: Sequence[int], index: int) -> int | None:
    """Return the first of ascending places behind an index, None without one."""
    at = bisect_right(places, index)
    return places[at] if at < len(places) else None
