"""The lines of a PDF page in reading order, from its words and their positions."""

import ctypes
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from ingest.parsers.pdf.columns import reading_order
from ingest.parsers.pdf.types import HYPHEN, PageText, Segment, TextLine

#: pdfium's other sign for such a hyphen, and bullets of the fonts Symbol and Wingdings, which have no code
REPLACED = {"\ufffe": HYPHEN, "\uf0b7": "•", "\uf0a7": "•", "\uf076": "•", "\uf0d8": "•"}
#: code points that are no characters: control codes and surrogates
DROPPED = [*range(0x02), *range(0x03, 0x09), *range(0x0E, 0x20), *range(0xD800, 0xE000)]
CLEANED = str.maketrans(REPLACED | dict.fromkeys(map(chr, DROPPED)))
LINE_END = re.compile("[\n\r\v\f\x85\u2028\u2029]")
#: a word up to the mark of its hyphen, after which it continues in the next line
WORD = re.compile("[^\\s\x02\ufffe]+[\x02\ufffe]*")
MAX_CODE = 0x10FFFF
#: gap between words, in heights of a line, that may be one between columns or cells
WIDE_GAP = 0.5
#: gap, in the same measure, that separates no words
NO_GAP = 0.1
#: words that decide about the direction of a page's text
DIRECTION_WORDS = 40
#: letters that are set apart: least number, largest gap in heights, and its ratio to a gap between words
SPACED_LETTERS, SPACED_GAP, SPACED_WORD = 4, 1.2, 1.4

#: left, bottom, right, top in points, of text that reads from left to right
Box = tuple[float, float, float, float]
#: boxes of the page as they are where its text reads upwards, downwards and upside down
TURNS: dict[str, Callable[[float, float, float, float], Box]] = {
    "right": lambda left, bottom, right, top: (left, bottom, right, top),
    "up": lambda left, bottom, right, top: (bottom, -right, top, -left),
    "down": lambda left, bottom, right, top: (-top, left, -bottom, right),
    "left": lambda left, bottom, right, top: (-right, -top, -left, -bottom),
}


def read_page(page: Any, number: int) -> PageText:
    """Return the text of a page of pypdfium2, `number` from 1."""
    text_page = page.get_textpage()
    try:
        reader = _WordReader(text_page, is_upside_down=page.get_rotation() == 180)
        lines = tuple(map(_text_line, reading_order(list(reader.segments()))))
        _, bottom, _, top = reader.turn(*page.get_bbox())
        return PageText(number=number, lines=lines, bottom=bottom, top=top)
    finally:
        text_page.close()


def _text_line(row: Sequence[Segment]) -> TextLine:
    return TextLine(
        text=" ".join(segment.text for segment in row).replace(f"{HYPHEN} ", ""),
        left=row[0].left,
        right=row[-1].right,
        cells=tuple((segment.left, segment.right) for segment in row),
        top=max(segment.top for segment in row),
        bottom=min(segment.bottom for segment in row),
    )


class _WordReader:
    """Reader of a page's words with their boxes."""

    def __init__(self, text_page: Any, *, is_upside_down: bool) -> None:
        from pypdfium2.raw import FS_RECTF, FPDFText_GetLooseCharBox

        self._text = _characters(text_page)
        self._raw, self._get_box = text_page.raw, FPDFText_GetLooseCharBox
        self._rect = FS_RECTF()
        self._rect_ref = ctypes.byref(self._rect)
        self._spans = [word.span() for word in WORD.finditer(self._text)]
        self.turn = TURNS[self._direction(is_upside_down=is_upside_down)]

    def segments(self) -> Iterator[Segment]:
        """Yield the runs of words without a wide gap, in the order in which they were set."""
        for line, words in enumerate(self._lines()):
            run: list[Segment] = []
            for word in _join_spaced(words):
                if run and _gap(run[-1], word) > WIDE_GAP * word.height:
                    yield _join(run, line)
                    run = []
                run.append(word)
            yield _join(run, line)

    def _lines(self) -> Iterator[list[Segment]]:
        """Yield the words of each line; pdfium divides some lines and words, and joins other lines."""
        line: list[Segment] = []
        end = 0
        for span in self._spans:
            word = self._word(*span)
            if not word.text.strip(HYPHEN):  # nothing but characters that are dropped
                continue
            between = self._text[end : span[0]]
            end = span[1]
            if line and not (
                _is_beside(line[-1], word) and (not LINE_END.search(between) or _is_near(line[-1], word))
            ):
                yield line
                line = []
            if line and between and not between.strip("\r\n") and _is_divided(line[-1], word):
                line[-1] = _join((line[-1]._replace(text=f"{line[-1].text}{HYPHEN}"), word), 0)
            else:
                line.append(word)
        if line:
            yield line

    def _direction(self, *, is_upside_down: bool) -> str:
        """Return the direction in which most of the text reads; to the left does Arabic, too."""
        counts: Counter[str] = Counter()
        for start, end in self._spans:
            if end - start > 2:
                first, last = self._box(start), self._box(end - 1)
                across, up = last[0] - first[0], last[1] - first[1]
                level = "left" if across < 0 and is_upside_down else "right"
                counts[level if abs(across) >= abs(up) else "up" if up > 0 else "down"] += 1
                if counts.total() > DIRECTION_WORDS:
                    break
        return counts.most_common(1)[0][0] if counts else "right"

    def _box(self, index: int) -> Box:
        rect = self._rect
        rect.left = rect.bottom = rect.right = rect.top = 0.0
        self._get_box(self._raw, index, self._rect_ref)
        return rect.left, rect.bottom, rect.right, rect.top

    def _word(self, start: int, end: int) -> Segment:
        text = self._text[start:end].translate(CLEANED)
        last = end - 1 - (text.endswith(HYPHEN) and len(text) > 1)
        box = first = self.turn(*self._box(start))
        if last > start:
            other = self.turn(*self._box(last))
            box = (
                min(first[0], other[0]),
                min(first[1], other[1]),
                max(first[2], other[2]),
                max(first[3], other[3]),
            )
        return Segment(text, 0, box[0], box[2], box[3], box[1], box[2] - box[0])


def _characters(text_page: Any) -> str:
    """Return the characters of the page, each at its index.

    They are read one by one, which takes a hundred times longer, only where the text is not one to one: for
    characters outside Unicode's first plane, and where pdfium adds or omits some.
    """
    from pypdfium2.raw import FPDFText_GetUnicode

    count = text_page.count_chars()
    text: str = text_page.get_text_range()
    if len(text) == count:
        return text
    codes = (FPDFText_GetUnicode(text_page.raw, index) for index in range(count))
    return "".join(chr(code) if code <= MAX_CODE else "\0" for code in codes)


def _is_beside(word: Segment, following: Segment) -> bool:
    """Return whether both words stand at about the same height."""
    distance = word.top + word.bottom - following.top - following.bottom
    return abs(distance) < max(word.height, following.height)


def _is_near(word: Segment, following: Segment) -> bool:
    height = max(word.height, following.height)
    return -NO_GAP * height < following.left - word.right <= WIDE_GAP * height


def _is_divided(word: Segment, following: Segment) -> bool:
    """Return whether two pieces are one word: without a gap, of one size (no number of a footnote)."""
    tolerance = NO_GAP * following.height
    is_level = abs(word.top - following.top) < tolerance and abs(word.bottom - following.bottom) < tolerance
    return is_level and _gap(word, following) < tolerance


def _gap(word: Segment, following: Segment) -> float:
    """Return the distance between two words, whichever of them is on the left."""
    return max(following.left - word.right, word.left - following.right)


def _join(words: Sequence[Segment], line: int) -> Segment:
    """Return the words as one segment; a mark of a hyphen within its line divides no word."""
    return Segment(
        " ".join(word.text for word in words).replace(f"{HYPHEN} ", ""),
        line,
        min(word.left for word in words),
        max(word.right for word in words),
        max(word.top for word in words),
        min(word.bottom for word in words),
        words[0].first_width,
    )


def _join_spaced(words: Sequence[Segment]) -> Iterator[Segment]:
    """Yield the words, letters that are set apart joined: `A N N U A L   R E P O R T` is two words."""
    letters: list[Segment] = []
    for word in words:
        if len(word.text) == 1:
            letters.append(word)
            continue
        yield from _spaced_words(letters)
        letters = []
        yield word
    yield from _spaced_words(letters)


def _spaced_words(letters: Sequence[Segment]) -> Iterator[Segment]:
    if sum(letter.text.isalpha() for letter in letters) < SPACED_LETTERS:
        yield from letters
        return
    gaps = [_gap(letter, following) for letter, following in pairwise(letters)]
    usual = median(gaps)
    steps = {ord(other.text) - ord(one.text) for one, other in pairwise(letters)}
    if not 0 < usual < SPACED_GAP * letters[0].height or steps == {1}:  # A B C D are names of columns
        yield from letters
        return
    word: list[Segment] = []
    for letter, gap in zip(letters, (*gaps, float("inf")), strict=True):
        word.append(letter)
        if gap > SPACED_WORD * usual:
            yield _join(word, 0)._replace(text="".join(each.text for each in word))
            word = []
