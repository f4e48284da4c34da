"""Windows of code lines, cut at the lines of lowest cost."""

from collections.abc import Callable
from math import ceil

from ingest.chunking.lines import SizedLines

#: cost of a cut after a line, by that line's number; the lowest is taken
CutCost = Callable[[int], int]


class Windows:
    """Splitter of lines into windows of at most `max_tokens`."""

    def __init__(self, sized: SizedLines, *, max_tokens: int) -> None:
        self.sized = sized
        self.max_tokens = max_tokens

    def tile(self, start: int, last: int, cost: CutCost | None = None) -> list[tuple[int, int]]:
        """Return adjacent windows (first and last line) from `start` to `last`.

        There are none when all of those lines are blank. With `cost` the windows have about equal size, else
        each is as long as the indentation permits.
        """
        lines = self.sized.lines
        windows: list[tuple[int, int]] = []
        if not any(line.strip() for line in lines[start - 1 : last]):
            return windows
        while start <= last:
            filled = self.first_filled(start, last)
            end = self._window_end(filled, last, cost)
            while end < last and not lines[end].strip():
                end += 1
            windows.append((start, end))
            start = end + 1
        return windows

    def texts(self, start: int, end: int) -> list[tuple[str, int]]:
        """Return texts and tokens of a window: one, unless its only non-blank line is too long for a chunk.

        Blank lines at its ends are left out where they would make the text too long.
        """
        filled = self.first_filled(start, end)
        if self.sized.fits(filled, filled, self.max_tokens):
            if not self.sized.fits(start, end, self.max_tokens):
                start, end = filled, self._last_filled(filled, end)
            return [(self.sized.text(start, end), self.sized.tokens(start, end))]
        pieces = self.sized.pieces(filled, self.max_tokens)
        return [(piece, self.sized.counts.count(piece)) for piece in pieces]

    def first_filled(self, start: int, last: int) -> int:
        """Return the number of the first non-blank line from `start` on, else `last`."""
        lines = self.sized.lines
        while start < last and not lines[start - 1].strip():
            start += 1
        return start

    def _last_filled(self, start: int, end: int) -> int:
        lines = self.sized.lines
        while end > start and not lines[end - 1].strip():
            end -= 1
        return end

    def _window_end(self, filled: int, last: int, cost: CutCost | None) -> int:
        """Return the last line of the window whose first non-blank line is `filled`."""
        end = filled
        while end < last and self.sized.fits(filled, end + 1, self.max_tokens):
            end += 1
        if end == last:
            return end
        half = filled + (end - filled) // 2
        ends = range(end, half, -1)
        if cost is None:
            return min(ends, key=lambda each: (self._indentation_cost(each), -each), default=end)
        wanted = self._even_end(filled, last)
        return min(ends, key=lambda each: (cost(each), abs(each - wanted)), default=end)

    def _even_end(self, filled: int, last: int) -> int:
        """Return the line after which to cut for windows of equal size."""
        left = self.sized.tokens(filled, last)
        wanted = left / max(1, ceil(left / self.max_tokens))
        end = filled
        while end < last and self.sized.tokens(filled, end) < wanted:
            end += 1
        return end

    def _indentation_cost(self, end: int) -> int:
        """Return the cost of a cut after `end`, lowest before an unindented line after a blank one."""
        following = self.sized.lines[end]
        if not following.strip():
            return 1_000
        indent = len(following) - len(following.lstrip())
        is_after_blank = not self.sized.lines[end - 1].strip()
        closes = following.lstrip()[:1] in (")", "]", "}")
        return 2 * indent + (0 if is_after_blank else 1) + (100 if closes else 0)
