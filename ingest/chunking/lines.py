"""Lines of a document with their sizes in tokens, and the split of a line that is too long for a chunk."""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from math import ceil
from operator import sub
from typing import Final, Protocol

from ingest.chunking.types import MAX_CHARS, MAX_CHUNKS, MAX_TOKENS, too_many_chunks

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
#: what counts as one token in scripts that the English model splits into letters, or doesn't know: a syllable
#: of Hangul, two letters of Greek, Cyrillic, Arabic, Indic and other scripts
LETTERS: Final = re.compile(
    "[\uac00-\ud7a3]|[\u1100-\u115f][\u1160-\u11a7][\u11a8-\u11ff]?"
    "|[\u0370-\u10ff\u1200-\u1cff\u1f00-\u1fff]{1,2}"
)
#: stands for each of them: a token of its own
IDEOGRAPH: Final = "\u4e00"
#: characters that are white space to `str.split` but that the tokenizer removes
CONTROL_SPACE: Final = re.compile("[\x0b\x0c\x1c-\x1f\x85]")


class ExactCounter(Protocol):
    """Counter of the embedder's tokens in any text, without its begin and end marks, without truncation."""

    def count(self, text: str) -> int: ...

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Return start and end of each token in `text`, in code points, in order."""
        ...


class TokenCounts:
    """Token counts, exact for Latin letters, several times faster than encoding each text.

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
    return comparable(text).split()


def comparable(text: str) -> str:
    """Return the text whose tokens are counted, with an ideograph for what counts as one in other scripts."""
    if CONTROL_SPACE.search(text):
        text = CONTROL_SPACE.sub("", text)
    return text if text.isascii() else LETTERS.sub(IDEOGRAPH, text)


#: a word with the white space after it; Chinese and Japanese sentence marks end one too, and a word of
#: more than 100 characters, which the tokenizer does not accept as one, is several atoms
ATOM = re.compile(r"[^\s。！？；、]{1,100}[。！？；、]*\s*|[。！？；、]{1,100}\s*|\s+")
#: lines counted between checks for too many tokens
COUNTED_TOGETHER = 10_000
SENTENCE_MARKS = (".", "!", "?", ";", "。", "！", "？", "；")


class SizedLines:
    """Lines with running sums of tokens and characters, so that any run of lines is sized in O(1).

    Line numbers are 1-based, ranges include both ends.

    Raises:
        ParseRefused: the lines hold more tokens than MAX_CHUNKS chunks can (`too_many_chunks`).
    """

    def __init__(self, lines: Sequence[str], counts: TokenCounts) -> None:
        self.lines = lines
        self.counts = counts
        # The tokens of the first 0, 1, 2 … lines.
        running = array("q", [0])
        for start in range(0, len(lines), COUNTED_TOGETHER):
            batch = lines[start : start + COUNTED_TOGETHER]
            counted = counts.count_each([line if len(line) <= MAX_CHARS else "" for line in batch])
            running.extend(accumulate(counted, initial=running.pop()))
            if running[-1] > MAX_CHUNKS * MAX_TOKENS:
                raise too_many_chunks()
        self._tokens = running
        self._chars = array("q", accumulate((len(line) + 1 for line in lines), initial=0))

    def tokens(self, start: int, end: int) -> int:
        """Return the tokens of lines `start` to `end`; lines over MAX_CHARS fit in no chunk and count 0."""
        return self._tokens[end] - self._tokens[start - 1]

    def fits(self, start: int, end: int, max_tokens: int) -> bool:
        """Return whether lines `start` to `end` make a chunk of at most `max_tokens` and MAX_CHARS."""
        is_short = self._chars[end] - self._chars[start - 1] - 1 <= MAX_CHARS
        return is_short and self._tokens[end] - self._tokens[start - 1] <= max_tokens

    def text(self, start: int, end: int) -> str:
        """Return lines `start` to `end` joined by newlines."""
        return "\n".join(self.lines[start - 1 : end])

    def pieces(self, number: int, max_tokens: int) -> Iterator[str]:
        """Split line `number` into pieces of at most `max_tokens`, see `split_line`."""
        return split_line(self.lines[number - 1], max_tokens, self.counts)


def split_line(line: str, max_tokens: int, counts: TokenCounts) -> Iterator[str]:
    """Yield the line in pieces of at most `max_tokens` and about equal length, in order.

    It is cut at sentences, else words, else anywhere. Pieces have no white space around them; all other
    characters are retained. Linear in the line's length.
    """
    position = 0
    while position < len(line):
        atoms = _fitting_atoms(line[position : position + MAX_CHARS], max_tokens, counts)
        size, left = sum(map(len, atoms)), len(line) - position
        if size == MAX_CHARS < left and len(atoms) > 1:
            size -= len(atoms.pop())  # the window may have cut the last word
        if size < left:
            atoms = atoms[: _even_cut(atoms, left / ceil(left / size))]
        piece = "".join(atoms)
        position += len(piece)
        if piece.strip():
            yield piece.strip()


def _fitting_atoms(window: str, max_tokens: int, counts: TokenCounts) -> list[str]:
    """Return as many of the window's first atoms as fit together, else the part of the first that fits."""
    atoms, left = [], max_tokens
    for atom, tokens in _counted_atoms(window, max_tokens, counts):
        left -= tokens
        if left < 0:
            break
        atoms.append(atom)
    # two atoms without a space between them may make a token more together
    while len(atoms) > 1 and counts.count("".join(atoms)) > max_tokens:
        atoms.pop()
    return atoms or [_fitting_slice(atom, max_tokens, counts)]


def _counted_atoms(window: str, together: int, counts: TokenCounts) -> Iterator[tuple[str, int]]:
    """Yield the window's atoms with their tokens, counted in batches of about `together` characters."""
    atoms, size = [], 0
    for match in ATOM.finditer(window):
        atoms.append(match[0])
        size += len(match[0])
        if size >= together:
            yield from zip(atoms, counts.count_each(atoms), strict=True)
            atoms, size = [], 0
    yield from zip(atoms, counts.count_each(atoms), strict=True)


def _even_cut(atoms: Sequence[str], wanted: float) -> int:
    """Return the number of atoms of a piece of about `wanted` characters.

    The cut is at the nearest sentence end from half of `wanted` on, else at the nearest word. Even cuts
    avoid a short last piece, whose vector is close to every short question: the same judged sets were
    searched better by vectors (nDCG@10 German 0.687 to 0.721, English 0.9457 to 0.9471).
    """
    sizes = [0, *accumulate(map(len, atoms))]
    words = range(1, len(atoms) + 1)
    sentences = [
        count
        for count in words
        if sizes[count] >= wanted / 2 and atoms[count - 1].rstrip().endswith(SENTENCE_MARKS)
    ]
    return min(sentences or words, key=lambda count: abs(sizes[count] - wanted))


def _fitting_slice(window: str, max_tokens: int, counts: TokenCounts) -> str:
    size = len(window)
    while size > 1 and counts.count(window[:size]) > max_tokens:
        size //= 2
    return window[:size]
