"""Counting the embedder's tokens without encoding the same word twice."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import sub
from typing import Final, Protocol

#: words remembered; about 12 MB when full
CACHE_WORDS: Final = 60_000
CACHED_WORD_CHARS: Final = 64
#: texts whose new words are counted together
LEARNED_TEXTS: Final = 200
#: longer text is counted in pieces, so that a line of 100 MB does not become a list of its words
PIECE_CHARS: Final = 65_536
#: what `str.split` takes for white space but the tokenizer removes without a trace
CONTROL_SPACE: Final = re.compile("[\x0b\x0c\x1c-\x1f\x85]")


class ExactCounter(Protocol):
    """Counts the embedder's tokens in any text, without its begin and end marks, without truncation."""

    def count(self, text: str) -> int: ...

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Where each token lies in `text`, in code points, in order."""
        ...


class TokenCounts:
    """Exact token counts, several times faster than encoding each text.

    WordPiece splits at white space first, so the count of a text is the sum over its words; and of
    the words of documentation six in seven were seen before.
    """

    def __init__(self, exact: ExactCounter) -> None:
        self._exact = exact
        self._seen: dict[str, int] = {}

    def count(self, text: str) -> int:
        """Tokens of `text`, 0 for a blank one."""
        if len(text) > PIECE_CHARS:
            return sum(sum(self.count_each([piece])) for piece in _pieces(text))
        words = _words(text)
        try:
            return sum(map(self._seen.__getitem__, words))
        except KeyError:
            return sum(map(self._count_word, words))

    def count_each(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, in order."""
        counted: list[int] = []
        for start in range(0, len(texts), LEARNED_TEXTS):
            batch = texts[start : start + LEARNED_TEXTS]
            self._learn(batch)
            counted.extend(map(self.count, batch))
        return counted

    def _count_word(self, word: str) -> int:
        known = self._seen.get(word)
        return self._exact.count(word) if known is None else known

    def _learn(self, texts: Sequence[str]) -> None:
        """Counts the new words of `texts` in one call: a call costs as much as thirty words."""
        words = set(_words("\n".join(text for text in texts if len(text) <= PIECE_CHARS)))
        new = [word for word in words if word not in self._seen and len(word) <= CACHED_WORD_CHARS]
        if len(self._seen) + len(new) > CACHE_WORDS:
            self._seen.clear()
        ends = list(accumulate(len(word) + 1 for word in new))
        starts = [start for start, _ in self._exact.offsets(" ".join(new))]
        edges = [0, *(bisect_left(starts, end) for end in ends)]
        self._seen.update(zip(new, map(sub, edges[1:], edges), strict=True))


def _words(text: str) -> list[str]:
    if CONTROL_SPACE.search(text):
        text = CONTROL_SPACE.sub("", text)
    return text.split()


def _pieces(text: str) -> Iterator[str]:
    """`text` in pieces of at most PIECE_CHARS, cut after white space where the piece has any."""
    start = 0
    while start < len(text):
        end = start + PIECE_CHARS
        if end < len(text):
            end = max(text.rfind(" ", start, end), text.rfind("\n", start, end)) + 1 or end
        yield text[start:end]
        start = end
