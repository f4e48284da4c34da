"""A document's lines with their sizes, and how to cut a line that is too long for a chunk."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

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
    """The line in order, in pieces that fit, cut at sentences, else words, else anywhere.

    Pieces have no white space around them; all other characters are kept. Linear in the line's length.
    """
    position = 0
    while position < len(line):
        window = line[position : position + MAX_CHARS]
        taken = _fitting_prefix(window, max_tokens, counts, is_last=position + MAX_CHARS >= len(line))
        position += len(taken)
        if taken.strip():
            yield taken.strip()


def _fitting_prefix(window: str, max_tokens: int, counts: TokenCounts, *, is_last: bool) -> str:
    atoms, left = [], max_tokens
    for match in ATOM.finditer(window):
        left -= counts.count(match[0])
        if left < 0:
            break
        atoms.append(match[0])
    if not atoms:
        return _fitting_slice(match[0], max_tokens, counts)
    is_whole = left >= 0
    if is_whole and not is_last and len(atoms) > 1:
        atoms.pop()  # the window may have cut the last word
    if not (is_whole and is_last):
        atoms = atoms[: _sentence_cut(atoms)]
    # two atoms without a space between them may make a token more together
    while len(atoms) > 1 and counts.count("".join(atoms)) > max_tokens:
        atoms.pop()
    return "".join(atoms)


def _sentence_cut(atoms: Sequence[str]) -> int:
    """How many atoms to keep: up to the last sentence end in their second half, else all."""
    for kept in range(len(atoms), len(atoms) // 2, -1):
        if atoms[kept - 1].rstrip().endswith(SENTENCE_END):
            return kept
    return len(atoms)


def _fitting_slice(window: str, max_tokens: int, counts: TokenCounts) -> str:
    size = len(window)
    while size > 1 and counts.count(window[:size]) > max_tokens:
        size //= 2
    return window[:size]
