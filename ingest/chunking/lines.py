"""A document's lines with their sizes, and how to cut a line that is too long for a chunk."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import ceil

from ingest.chunking.tokens import TokenCounts
from ingest.chunking.types import MAX_CHARS

#: a word with the white space after it; Chinese and Japanese sentence marks end one too, and a word of
#: more than 100 characters, which the tokenizer does not know as one, comes in several
ATOM = re.compile(r"[^\s。！？；、]{1,100}[。！？；、]*\s*|[。！？；、]{1,100}\s*|\s+")
SENTENCE_END = (".", "!", "?", ";", "。", "！", "？", "；")


class SizedLines:
    """Lines with running sums of tokens and characters, so that any run of lines is sized at once.

    Line numbers are 1-based, ranges include both ends.
    """

    def __init__(self, lines: Sequence[str], counts: TokenCounts) -> None:
        self.lines = lines
        self.counts = counts
        self._tokens = [0, *accumulate(counts.count_each(lines))]
        self._chars = [0, *accumulate(len(line) + 1 for line in lines)]

    def tokens(self, start: int, end: int) -> int:
        """Tokens of lines `start` to `end`."""
        return self._tokens[end] - self._tokens[start - 1]

    def fits(self, start: int, end: int, max_tokens: int) -> bool:
        """Whether lines `start` to `end` make a chunk of at most `max_tokens` and MAX_CHARS."""
        is_short = self._chars[end] - self._chars[start - 1] - 1 <= MAX_CHARS
        return is_short and self._tokens[end] - self._tokens[start - 1] <= max_tokens

    def text(self, start: int, end: int) -> str:
        """Lines `start` to `end` joined by newlines."""
        return "\n".join(self.lines[start - 1 : end])

    def pieces(self, number: int, max_tokens: int) -> Iterator[str]:
        """Line `number` in pieces of at most `max_tokens`, see `split_line`."""
        return split_line(self.lines[number - 1], max_tokens, self.counts)


def split_line(line: str, max_tokens: int, counts: TokenCounts) -> Iterator[str]:
    """The line in order, in pieces that fit and are about as long as each other.

    Cut at sentences, else words, else anywhere. Pieces have no white space around them; all other
    characters are kept. Linear in the line's length.
    """
    position, left = 0, counts.count(line)
    while position < len(line):
        number = max(1, ceil(left / max_tokens), ceil((len(line) - position) / MAX_CHARS))
        window = line[position : position + MAX_CHARS]
        taken = _fitting_prefix(window, max_tokens, counts, wanted=left / number, is_last=number == 1)
        position += len(taken)
        left -= counts.count(taken)
        if taken.strip():
            yield taken.strip()


def _fitting_prefix(
    window: str, max_tokens: int, counts: TokenCounts, *, wanted: float, is_last: bool
) -> str:
    """What fits of the window; unless it is the last, up to the best cut near `wanted` tokens."""
    atoms: list[str] = []
    sizes = [0]
    for match in ATOM.finditer(window):
        sizes.append(sizes[-1] + counts.count(match[0]))
        if sizes[-1] > max_tokens:
            break
        atoms.append(match[0])
    if not atoms:
        return _fitting_slice(match[0], max_tokens, counts)
    if not (is_last and len("".join(atoms)) == len(window)):
        atoms = atoms[: _even_cut(atoms, sizes, wanted)]
    # two atoms without a space between them may make a token more together
    while len(atoms) > 1 and counts.count("".join(atoms)) > max_tokens:
        atoms.pop()
    return "".join(atoms)


def _even_cut(atoms: Sequence[str], sizes: Sequence[int], wanted: float) -> int:
    """How many atoms to keep: up to the sentence end nearest to `wanted` tokens, half as many at least,
    else up to the word nearest to it.
    """
    ends = [
        kept
        for kept in range(1, len(atoms) + 1)
        if sizes[kept] >= wanted / 2 and atoms[kept - 1].rstrip().endswith(SENTENCE_END)
    ]
    return min(ends or range(1, len(atoms) + 1), key=lambda kept: abs(sizes[kept] - wanted))


def _fitting_slice(window: str, max_tokens: int, counts: TokenCounts) -> str:
    size = len(window)
    while size > 1 and counts.count(window[:size]) > max_tokens:
        size //= 2
    return window[:size]
