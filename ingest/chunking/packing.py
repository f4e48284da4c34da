"""Packing of the blocks of one section into chunks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingest.chunking.lines import SizedLines
from ingest.chunking.types import Drafts, SectionContext
from ingest.parsers.outline_writer import HEADER_ROWS, find_header
from ingest.parsers.types import Block, LineSpan

#: A header of more than this share of a chunk, one in so many, is not repeated.
HEADER_SHARE = 2


@dataclass(frozen=True, slots=True)
class Unit:
    """Lines that stay together; `is_overlong` for a single line that fits in no chunk."""

    start: int
    end: int
    block: Block
    is_overlong: bool = False


def pack(
    blocks: Sequence[Block], context: SectionContext, max_tokens: int, *, sized: SizedLines, drafts: Drafts
) -> None:
    """Add the chunks of a section to `drafts`: units in order, each chunk filled up to `max_tokens`.

    A table or a code block too long for a chunk shares none with its neighbours. All chunks of a table have
    its header.
    """
    packer = _Packer(context, max_tokens, sized, drafts)
    for block in blocks:
        is_whole = sized.fits(block.span.start, block.span.end, max_tokens)
        stands_alone = not is_whole and block.kind in ("table", "code")
        if stands_alone:
            packer.flush()
            packer.begin_table(_header_of(block, max_tokens, sized))
        for unit in _units(block, packer.room, sized):
            packer.add(unit)
        if stands_alone:
            packer.flush()
            packer.begin_table(None)
    packer.flush()


def _header_of(block: Block, max_tokens: int, sized: SizedLines) -> LineSpan | None:
    """Return the lines of a table's header; None without one, and for one that leaves rows no room."""
    if block.kind != "table":
        return None
    start = block.span.start
    first, last = find_header(sized.lines[start - 1 : min(block.span.end, start + HEADER_ROWS - 1)])
    header = LineSpan(start + first - 1, start + last - 1)
    is_small = last > 0 and sized.fits(header.start, header.end, max_tokens // HEADER_SHARE)
    return header if is_small else None


def _units(block: Block, max_tokens: int, sized: SizedLines) -> Iterator[Unit]:
    """Yield the block whole if it fits, else cut at its breaks, else by line."""
    span = block.span
    if sized.fits(span.start, span.end, max_tokens):
        yield Unit(span.start, span.end, block)
        return
    starts = [span.start, *(line for line in block.breaks if line > span.start)]
    for start, following in zip(starts, [*starts[1:], span.end + 1], strict=True):
        if sized.fits(start, following - 1, max_tokens):
            yield Unit(start, following - 1, block)
            continue
        for line in range(start, following):
            yield Unit(line, line, block, is_overlong=not sized.fits(line, line, max_tokens))


class _Packer:
    """Builder of one chunk after another."""

    def __init__(self, context: SectionContext, max_tokens: int, sized: SizedLines, drafts: Drafts) -> None:
        self.context = context
        self.max_tokens = max_tokens
        self.sized = sized
        self.drafts = drafts
        self.units: list[Unit] = []
        self.header: LineSpan | None = None

    @property
    def room(self) -> int:
        """Return the tokens of a chunk beside the header of the present table."""
        header = self.header
        return self.max_tokens - (self.sized.tokens(header.start, header.end) if header else 0)

    def begin_table(self, header: LineSpan | None) -> None:
        """Repeat these lines in each chunk from now on; None ends that."""
        self.header = header

    def add(self, unit: Unit) -> None:
        if unit.is_overlong:
            self.flush()
            self._add_pieces(unit)
            return
        if self.units and not self.sized.fits(self.units[0].start, unit.end, self.room):
            self.flush()
        self.units.append(unit)

    def flush(self) -> None:
        """Add the chunk of the pending units, without blank lines at its ends."""
        units, self.units = self.units, []
        if not units:
            return
        span = self._without_blank_ends(units[0].start, units[-1].end)
        if span is None:
            return
        language = self._code_language(units)
        above, above_tokens = self._repeat_header(span.start)
        self.drafts.add(
            self.context,
            span,
            text=above + self.sized.text(span.start, span.end),
            tokens=above_tokens + self.sized.tokens(span.start, span.end),
            kind="code" if language else "info",
            code_language=language,
        )

    def _repeat_header(self, start: int) -> tuple[str, int]:
        """Return the table's header above a chunk that begins below it, with its tokens; cite its lines."""
        header = self.header
        if header is None or start <= header.end:
            return "", 0
        self.drafts.outline_lines.append(header)
        return f"{self.sized.text(header.start, header.end)}\n", self.sized.tokens(header.start, header.end)

    def _add_pieces(self, unit: Unit) -> None:
        language = unit.block.language if unit.block.kind == "code" else None
        for piece in self.sized.pieces(unit.start, self.room):
            above, above_tokens = self._repeat_header(unit.start)
            self.drafts.add(
                self.context,
                LineSpan(unit.start, unit.end),
                text=above + piece,
                tokens=above_tokens + self.sized.counts.count(piece),
                kind="code" if language else "info",
                code_language=language,
            )

    def _without_blank_ends(self, start: int, end: int) -> LineSpan | None:
        lines = self.sized.lines
        while start <= end and not lines[start - 1].strip():
            start += 1
        while end > start and not lines[end - 1].strip():
            end -= 1
        return LineSpan(start, end) if start <= end else None

    def _code_language(self, units: Sequence[Unit]) -> str | None:
        """Return the main language if code has more than half of the tokens, else None."""
        by_language: dict[str, int] = {}
        for unit in units:
            if unit.block.kind == "code" and unit.block.language:
                tokens = self.sized.tokens(unit.start, unit.end)
                by_language[unit.block.language] = by_language.get(unit.block.language, 0) + tokens
        all_tokens = self.sized.tokens(units[0].start, units[-1].end)
        if not by_language or 2 * sum(by_language.values()) <= all_tokens:
            return None
        return max(by_language, key=lambda name: by_language[name])
