"""Accents that are drawn apart from their letter, and numbers of footnotes that stand close to a word."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final
from unicodedata import normalize

from ingest.parsers.pdf.types import Box, Span

#: accents that stand alone, with the ones that join their letter
ACCENTS: Final = "´`¨ˆ^˜~¯˘˙˚¸˝˛ˇ"
JOINING: Final = "\u0301\u0300\u0308\u0302\u0302\u0303\u0303\u0304\u0306\u0307\u030a\u0327\u030b\u0328\u030c"
ACCENT: Final = re.compile(f"[{re.escape(ACCENTS)}]")
#: letters without the dot that an accent replaces
DOTTED: Final = str.maketrans("ıȷ", "ij")
#: share of the narrower box that an accent and its letter have in common
OVERLAP: Final = 0.5
#: characters up to its letter: pdfium may put a blank or the end of a line between
REACH: Final = 3
#: numbers of footnotes at the end of a word or before the first one of a note, and its last characters
NOTE_AFTER: Final = re.compile(
    r"(?<=[^\W\d_]{3})[^\w\s]{0,2}?([¹²³⁰⁴-⁹]|\d{1,3}(?:[,–-]\d{1,3}){0,3})[^\w\s]{0,2}$"
)
NOTE_BEFORE, NOTE_CHARS = re.compile(r"\d{1,3}(?=[^\W\d_]{2})"), 24
SUPERSCRIPT: Final = "⁰¹²³⁴⁵⁶⁷⁸⁹"
#: largest ratio of the size of such a number to that of the text
NOTE_SIZE: Final = 0.85


def join_accents(text: str, box_at: Callable[[int], Box]) -> str:
    """Return the characters of a page, accents that are drawn over a letter joined to it.

    NUL stands in place of such an accent, so that each character keeps its index.
    """
    if text.isascii() and not any(accent in text for accent in "^`~"):
        return text
    letters = list(text)
    for accent in ACCENT.finditer(text):
        place = accent.start()
        for other in _letters_near(letters, place):
            joined = normalize("NFC", letters[other].translate(DOTTED) + JOINING[ACCENTS.index(accent[0])])
            if len(joined) == 1 and _overlap(box_at(place), box_at(other)) >= OVERLAP:
                first, last = (place, other) if place < other else (other + 1, place + 1)
                letters[first:last] = "\0" * (last - first)
                letters[other] = joined
                break
    return "".join(letters)


def _letters_near(letters: Sequence[str], place: int) -> Iterator[int]:
    """Yield the index of the letter after the one at `place`, and before it."""
    for step in (1, -1):
        for other in range(place + step, place + step * (REACH + 1), step):
            if not 0 <= other < len(letters) or not (letters[other].isspace() or letters[other].isalpha()):
                break
            if letters[other].isalpha():
                yield other
                break


def split_note_marks(words: Iterable[re.Match[str]], box_at: Callable[[int], Box]) -> Iterator[Span]:
    """Yield the span of each word; numbers of footnotes and digits in a column are words of their own."""
    for word in words:
        text, (start, end) = word[0], word.span()
        if text.isalpha():
            yield start, end
        elif text.isdecimal():
            is_column = end - start > 1 and _is_below(box_at(start), box_at(end - 1))
            yield from ((place, place + 1) for place in range(start, end)) if is_column else [(start, end)]
        elif (mark := NOTE_AFTER.search(text, max(0, len(text) - NOTE_CHARS))) and (
            mark[1] in SUPERSCRIPT or _is_small(start + mark.start(1), start + mark.start() - 1, box_at)
        ):
            yield start, start + mark.start(1)
            yield start + mark.start(1), end
        elif (mark := NOTE_BEFORE.match(text)) and _is_small(start, start + mark.end(), box_at):
            yield start, start + mark.end()
            yield start + mark.end(), end
        else:
            yield start, end


def _is_below(box: Box, other: Box) -> bool:
    return box[3] - box[1] > box[2] - box[0] and other[3] <= box[1]


def _is_small(place: int, letter: int, box_at: Callable[[int], Box]) -> bool:
    return _size(box_at(place)) < NOTE_SIZE * _size(box_at(letter))


def _size(box: Box) -> float:
    """Return the longer side of a character's box, which is its height, or its width where text is turned."""
    return max(box[2] - box[0], box[3] - box[1])


def _overlap(one: Box, other: Box) -> float:
    """Return the share of the smaller box that both have in common."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    least = min((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return width * height / least if min(width, height, least) > 0 else 0.0
