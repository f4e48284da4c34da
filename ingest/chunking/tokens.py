"""Token counts of the embedder with a cache of words, so that no word is encoded twice."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import sub
from typing import Final, Protocol

#: words and parts of words in the cache, give or take those of LEARNED_TEXTS; about 12 MB
CACHE_WORDS: Final = 60_000
#: the tokenizer treats a longer word as one unknown token
CACHED_WORD_CHARS: Final = 100
#: texts whose new words are counted together
LEARNED_TEXTS: Final = 200
#: parts into which the tokenizer splits a word before any lookup: its own marks, punctuation, ideographs
PART: Final = re.compile(
    r"\[[A-Z]{3,4}\]|[!-/:-@\[-`{-~、。「」！，：；？\u3400-\u4dbf\u4e00-\u9fff]"
    r"|[^!-/:-@\[-`{-~、。「」！，：；？\u3400-\u4dbf\u4e00-\u9fff]+"
)
#: characters that are white space to `str.split` but that the tokenizer removes
CONTROL_SPACE: Final = re.compile("[\x0b\x0c\x1c-\x1f\x85]")


class ExactCounter(Protocol):
    """Counter of the embedder's tokens in any text, without its begin and end marks, without truncation."""

    def count(self, text: str) -> int: ...

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Return start and end of each token in `text`, in code points, in order."""
        ...


class TokenCounts:
    """Exact token counts, several times faster than encoding each text.

    WordPiece splits at white space, punctuation and ideographs first, so the count of a text is the sum
    over its words, that of a word the sum over its parts; and six in seven words of documentation are in
    the cache.
    """

    def __init__(self, exact: ExactCounter) -> None:
        self._exact = exact
        self._seen: dict[str, int] = {}

    def count(self, text: str) -> int:
        """Return the tokens of `text`, 0 for a blank one."""
        words = _words(text)
        try:
            return sum(map(self._seen.__getitem__, words))
        except KeyError:
            self._learn(words)
            return sum(map(self._count_word, words))

    def count_each(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text, in order."""
        counted: list[int] = []
        for start in range(0, len(texts), LEARNED_TEXTS):
            batch = texts[start : start + LEARNED_TEXTS]
            self._learn(_words("\n".join(batch)))
            counted.extend(map(self.count, batch))
        return counted

    def _count_word(self, word: str) -> int:
        known = self._seen.get(word)
        return sum(map(self._count_part, PART.findall(word))) if known is None else known

    def _count_part(self, part: str) -> int:
        known = self._seen.get(part)
        return self._exact.count(part) if known is None else known

    def _learn(self, words: Iterable[str]) -> None:
        """Count the new parts of `words` in one call, as a call costs as much as thirty words."""
        if len(self._seen) > CACHE_WORDS:
            self._seen.clear()
        parts = {word: PART.findall(word) for word in set(words) if word not in self._seen}
        new = {part for listed in parts.values() for part in listed if part not in self._seen}
        self._seen.update(self._encode_parts([part for part in new if len(part) <= CACHED_WORD_CHARS]))
        for word, listed in parts.items():
            if len(listed) > 1 and len(word) <= CACHED_WORD_CHARS:
                self._seen[word] = sum(map(self._seen.__getitem__, listed))

    def _encode_parts(self, parts: Sequence[str]) -> Iterable[tuple[str, int]]:
        ends = list(accumulate(len(part) + 1 for part in parts))
        starts = [start for start, _ in self._exact.offsets(" ".join(parts))] if parts else []
        edges = [0, *(bisect_left(starts, end) for end in ends)]
        return zip(parts, map(sub, edges[1:], edges), strict=True)


def _words(text: str) -> list[str]:
    if CONTROL_SPACE.search(text):
        text = CONTROL_SPACE.sub("", text)
    return text.split()
