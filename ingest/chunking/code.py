"""Code as windows of lines: each file tiled, cut where the indentation returns to the margin."""

from ingest.chunking.breadcrumbs import breadcrumb_of
from ingest.chunking.drafts import Drafts, Place
from ingest.chunking.lines import SizedLines
from ingest.chunking.tokens import TokenCounts
from ingest.chunking.types import MAX_TOKENS, ChunkDraft
from ingest.parsers.types import LineSpan, ParsedDocument


def chunk_code(parsed: ParsedDocument, path: str, counts: TokenCounts) -> list[ChunkDraft]:
    """Chunks whose spans tile the file; a line too long for a chunk makes several with its number."""
    lines = parsed.outline.lines
    crumb = breadcrumb_of(path, (), counts)
    sized = SizedLines(lines, counts)
    windows = _Windows(sized, max_tokens=MAX_TOKENS - crumb.tokens)
    drafts = Drafts(parsed=parsed)
    for start, end in windows.tile():
        label = f"lines {start}-{end}" if end > start else f"line {start}"
        place = Place(breadcrumb=crumb.text, section_label=label)
        for text, tokens in windows.texts(start, end):
            drafts.add(
                place,
                LineSpan(start, end),
                text=text,
                tokens=tokens,
                kind="code",
                code_language=parsed.language,
            )
    return drafts.chunks


class _Windows:
    """Cuts lines into windows of at most `max_tokens`."""

    def __init__(self, sized: SizedLines, *, max_tokens: int) -> None:
        self.sized = sized
        self.max_tokens = max_tokens

    def tile(self) -> list[tuple[int, int]]:
        """Windows (first and last line) that follow on one another; none when all lines are blank."""
        lines = self.sized.lines
        windows: list[tuple[int, int]] = []
        start, last = 1, len(lines)
        while start <= last:
            end = self._window_end(self._first_filled(start), start)
            while end < last and not lines[end].strip():
                end += 1
            windows.append((start, end))
            start = end + 1
        return [] if not any(line.strip() for line in lines) else windows

    def texts(self, start: int, end: int) -> list[tuple[str, int]]:
        """Text and tokens of a window: one, unless its one filled line is too long for a chunk."""
        if self.sized.tokens(start, end) <= self.max_tokens and not self._is_overlong(start, end):
            return [(self.sized.text(start, end), self.sized.tokens(start, end))]
        filled = self._first_filled(start)
        pieces = self.sized.pieces(filled, self.max_tokens)
        return [(piece, self.sized.counts.count(piece)) for piece in pieces]

    def _is_overlong(self, start: int, end: int) -> bool:
        filled = self._first_filled(start)
        return not self.sized.fits(filled, filled, self.max_tokens)

    def _first_filled(self, start: int) -> int:
        """Number of the first line from `start` on that is not blank, else of the last line."""
        lines = self.sized.lines
        while start < len(lines) and not lines[start - 1].strip():
            start += 1
        return start

    def _window_end(self, filled: int, start: int) -> int:
        """Last line of the window that begins at `start`, whose first filled line is `filled`."""
        last = len(self.sized.lines)
        end = filled
        while end < last and self.sized.fits(filled, end + 1, self.max_tokens):
            end += 1
        return end if end == last else self._best_cut(filled, end)

    def _best_cut(self, first: int, end: int) -> int:
        """The last line before the best place to cut in the second half of `first` to `end`."""
        half = first + (end - first) // 2
        candidates = range(end, half, -1)
        return min(candidates, key=self._cut_cost, default=end)

    def _cut_cost(self, end: int) -> tuple[int, int]:
        """Low where the next line stands at the margin after a blank one; ties go to the later place."""
        following = self.sized.lines[end]
        if not following.strip():
            return (1_000, -end)
        indent = len(following) - len(following.lstrip())
        is_after_blank = not self.sized.lines[end - 1].strip()
        closes = following.lstrip()[:1] in (")", "]", "}")
        return (2 * indent + (0 if is_after_blank else 1) + (100 if closes else 0), -end)
