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
#: its letter: pdfium may put a blank or the end of a line between
AFTER, BEFORE, REACH = re.compile(r"\s{0,2}([^\W\d_])"), re.compile(r"([^\W\d_])\s{0,2}$"), 3
#: numbers of footnotes after a word, before the next one too, and before the first word of a note
NOTE_AFTER: Final = re.compile(
    r"(?<=[^\W\d_]{3})[^\w\s]{0,2}?([¹²³⁰⁴-⁹]|\d{1,3}(?:[,–-]\d{1,3}){0,3})(?:[^\w\s]{0,2}$|(?=[^\W\d_]{2}))"
)
NOTE_BEFORE: Final = re.compile(r"\d{1,3}(?=[^\W\d_]{2})")
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
        for found in (AFTER.match(text, place + 1), BEFORE.search(text, max(0, place - REACH), place)):
            other = found.start(1) if found else place
            joined = normalize("NFC", letters[other].translate(DOTTED) + JOINING[ACCENTS.index(text[place])])
            if len(joined) == 1 and _overlap(box_at(place), box_at(other)) >= OVERLAP:
                first, last = (place, other) if place < other else (other + 1, place + 1)
                letters[first:last] = "\0" * (last - first)
                letters[other] = joined
                break
    return "".join(letters)


def split_note_marks(words: Iterable[re.Match[str]], box_at: Callable[[int], Box]) -> Iterator[Span]:
    """Yield the span of each word; numbers of footnotes and digits in a column are words of their own."""
    for word in words:
        start, end = word.span()
        for cut in () if word[0].isalpha() else _cuts(word[0], start, box_at):
            yield start, cut
            start = cut
        yield start, end


def _cuts(text: str, start: int, box_at: Callable[[int], Box]) -> Sequence[int]:
    """Return the places on the page at which a word that starts at one is divided."""
    if text.isdecimal():
        first, last = box_at(start), box_at(start + len(text) - 1)
        is_column = first[3] - first[1] > first[2] - first[0] and last[3] <= first[1]
        return range(start + 1, start + len(text)) if is_column else ()
    if mark := NOTE_AFTER.search(text):
        digit, letter, cuts = mark.start(1), mark.start() - 1, mark.span(1)
    elif mark := NOTE_BEFORE.match(text):
        digit, letter, cuts = 0, mark.end(), (mark.end(), len(text))
    else:
        return ()
    # the longer side is the height, or the width where text is turned
    sizes = [max(box[2] - box[0], box[3] - box[1]) for box in (box_at(start + digit), box_at(start + letter))]
    is_mark = text[digit] in SUPERSCRIPT or sizes[0] < NOTE_SIZE * sizes[1]
    return [start + cut for cut in cuts if is_mark and text[cut : cut + 1].isalnum()]


def _overlap(one: Box, other: Box) -> float:
    """Return the share of the smaller box that both have in common."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    least = min((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return width * height / least if min(width, height, least) > 0 else 0.0
