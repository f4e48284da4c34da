"""The lines of a PDF page in reading order, from its words and their positions."""

import ctypes
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import pairwise
from math import pi
from operator import attrgetter
from statistics import median
from typing import Any, Final
from unicodedata import normalize

from ingest.parsers.pdf.columns import LOWER_SHARE, SAME_EDGE, reading_order
from ingest.parsers.pdf.legible import legible_text
from ingest.parsers.pdf.marks import join_accents, split_note_marks
from ingest.parsers.pdf.paragraphs import CLAUSE_END
from ingest.parsers.pdf.types import HYPHEN, Box, PageText, Segment, Span, TextLine

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
#: words that decide about the direction of a page's text, characters of a word that shows it, and ratio of
#: its rise to its run from which on it is turned (a watermark across the page is not)
DIRECTION_WORDS, LONG_WORD, STEEP = 40, 3, 2.0
#: letters that are set apart: least number, largest gap in heights, and its ratio to a gap between words
SPACED_LETTERS, SPACED_GAP, SPACED_WORD = 4, 1.2, 1.4

#: boxes of the page as they are where its text reads upwards, downwards and upside down
TURNS: dict[str, Callable[[float, float, float, float], Box]] = {
    "right": lambda left, bottom, right, top: (left, bottom, right, top),
    "up": lambda left, bottom, right, top: (bottom, -right, top, -left),
    "down": lambda left, bottom, right, top: (-top, left, -bottom, right),
    "left": lambda left, bottom, right, top: (-right, -top, -left, -bottom),
}


def read_page(page: Any, number: int, *, is_numbered: bool = False) -> PageText:
    """Return the text of a page of pypdfium2, `number` from 1, without what is outside of its visible part.

    `is_numbered` tells that the lines of the page before have numbers.
    """
    with closing(page.get_textpage()) as text_page:
        reader = _WordReader(text_page, page.get_bbox(), is_upside_down=page.get_rotation() == 180)
        groups = reader.groups()
    kept = [without_line_numbers(group, is_numbered=is_numbered) for group in groups]
    _, bottom, _, top = reader.frame
    return PageText(
        number=number,
        lines=tuple(_text_line(row) for group in kept for row in reading_order(group)),
        bottom=bottom,
        top=top,
        unreadable=reader.unreadable,
        outside=reader.outside,
        line_numbers=sum(map(len, groups)) - sum(map(len, kept)),
    )


def _text_line(row: Sequence[Segment]) -> TextLine:
    text = " ".join(segment.text for segment in row).replace(f"{HYPHEN} ", "")
    return TextLine(
        text=text if text.isascii() else normalize("NFC", text),
        left=row[0].left,
        right=row[-1].right,
        cells=tuple(row),
        top=max(segment.top for segment in row),
        bottom=min(segment.bottom for segment in row),
    )


class _WordReader:
    """Reader of a page's words with their boxes."""

    def __init__(self, text_page: Any, page_box: Box, *, is_upside_down: bool) -> None:
        from pypdfium2.raw import FS_RECTF, FPDFText_GetLooseCharBox, FPDFText_HasUnicodeMapError

        self._raw, self._get_box = text_page.raw, FPDFText_GetLooseCharBox
        self._rect = FS_RECTF()
        self._rect_ref = ctypes.byref(self._rect)
        text, self.unreadable = legible_text(
            _characters(text_page), partial(FPDFText_HasUnicodeMapError, self._raw)
        )
        self._text = join_accents(text, self._box)
        self._spans = list(split_note_marks(WORD.finditer(self._text), self._box))
        counts = self._sample_directions(is_upside_down=is_upside_down)
        self._main = counts.most_common(1)[0][0] if counts else "right"
        self._is_mixed = len(counts) > 1
        #: direction of the latest long word by the angle of its characters, in quarters of a turn
        self._by_angle: dict[int, str] = {}
        self._page_box = page_box
        #: edges of the visible part of the page as most of its text reads, and characters outside of it
        self.frame = TURNS[self._main](*page_box)
        self.outside = 0

    def groups(self) -> list[list[Segment]]:
        """Return the segments of each direction of text, in the order in which they were set."""
        turned: dict[str, list[Span]] = {}
        groups = [list(self._segments(self._spans, self._main, turned))]
        groups += [list(self._segments(spans, name, None)) for name, spans in turned.items()]
        is_first_turned = bool(turned) and self._spans[0] in (spans[0] for spans in turned.values())
        return [*groups[1:], groups[0]] if is_first_turned else groups

    def _segments(
        self, spans: Sequence[Span], direction: str, turned: dict[str, list[Span]] | None
    ) -> Iterator[Segment]:
        """Yield the runs of words without a wide gap."""
        left, bottom, right, top = TURNS[direction](*self._page_box)
        for line, words in enumerate(self._lines(spans, direction, turned)):
            run: list[Segment] = []
            for word in _join_spaced(words):
                if word.left > right or word.right < left or word.bottom > top or word.top < bottom:
                    self.outside += len(word.text)
                    continue
                if run and _gap(run[-1], word) > WIDE_GAP * word.height:
                    yield _join(run, line)
                    run = []
                run.append(word)
            if run:
                yield _join(run, line)

    def _lines(
        self, spans: Sequence[Span], direction: str, turned: dict[str, list[Span]] | None
    ) -> Iterator[list[Segment]]:
        """Yield the words of each line; pdfium divides some lines and words, and joins other lines.

        Words that read in another direction are added to `turned`, unless it is None.
        """
        turn = TURNS[direction]
        line: list[Segment] = []
        end = 0
        for span in spans:
            word, is_tall = self._word(*span, turn)
            if not word.text.strip(HYPHEN):  # nothing but characters that are dropped
                continue
            if turned is not None and (is_tall or self._is_mixed):
                name = self._direction_of(*span, is_tall=is_tall)
                if name != direction:
                    self._is_mixed = True
                    turned.setdefault(name, []).append(span)
                    continue
            between = self._text[end : span[0]]
            end = span[1]
            if line and not (
                _is_beside(line[-1], word) and (not LINE_END.search(between) or _is_next(line[-1], word))
            ):
                yield line
                line = []
            if line and between and not between.strip("\r\n") and _is_divided(line[-1], word):
                line[-1] = _join((line[-1]._replace(text=f"{line[-1].text}{HYPHEN}"), word), 0)
            else:
                line.append(word)
        if line:
            yield line

    def _sample_directions(self, *, is_upside_down: bool) -> Counter[str]:
        """Return the directions in which the first long words read; to the left does Arabic, too."""
        counts: Counter[str] = Counter()
        for start, end in self._spans:
            if end - start >= LONG_WORD:
                name = self._long_direction(start, end)
                counts[name if name != "left" or is_upside_down else "right"] += 1
                if counts.total() > DIRECTION_WORDS:
                    break
        return counts

    def _long_direction(self, start: int, end: int) -> str:
        first, last = self._box(start), self._box(end - 1)
        across, up = last[0] - first[0], last[1] - first[1]
        if abs(across) >= abs(up):
            return "left" if across < 0 else "right"
        return "up" if up > 0 else "down"

    def _direction_of(self, start: int, end: int, *, is_tall: bool) -> str:
        """Return the direction of a word; that of a short one is of the long one before at its angle."""
        from pypdfium2.raw import FPDFText_GetCharAngle

        angle = round(FPDFText_GetCharAngle(self._raw, start) / (pi / 2)) % 4
        if end - start >= LONG_WORD:
            self._by_angle[angle] = self._long_direction(start, end) if is_tall else self._main
        return self._by_angle.get(angle, self._main)

    def _box(self, index: int) -> Box:
        self._get_box(self._raw, index, self._rect_ref)
        rect = self._rect
        return rect.left, rect.bottom, rect.right, rect.top

    def _word(
        self, start: int, end: int, turn: Callable[[float, float, float, float], Box]
    ) -> tuple[Segment, bool]:
        """Return a word, and whether it is long and reads upwards or downwards."""
        text = self._text[start:end]
        if not text.isalpha():
            text = text.translate(CLEANED)
        last = end - 1 - (len(text) > 1 and text[-1] == HYPHEN)
        left, bottom, right, top = turn(*self._box(start))
        is_tall = False
        if last > start:
            other = turn(*self._box(last))
            is_tall = end - start >= LONG_WORD and abs(other[1] - bottom) > STEEP * abs(other[0] - left)
            if other[0] < left:
                left = other[0]
            if other[1] < bottom:
                bottom = other[1]
            if other[2] > right:
                right = other[2]
            if other[3] > top:
                top = other[3]
        return Segment(text, 0, left, right, top, bottom, right - left), is_tall


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
    distance = abs(word.top + word.bottom - following.top - following.bottom)
    return distance < word.height or distance < following.height


def _is_next(word: Segment, following: Segment) -> bool:
    """Return whether a word that pdfium takes for that of another line is on the right, near or level."""
    tolerance = NO_GAP * max(word.height, following.height)
    is_level = abs(word.bottom - following.bottom) < tolerance
    gap = following.left - word.right
    return gap > -tolerance and (is_level or gap <= WIDE_GAP * max(word.height, following.height))


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
    if sum(len(word.text) == 1 for word in words) < SPACED_LETTERS:
        yield from words
        return
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


#: numbers of a column, what they count by, and digits of one
MIN_NUMBERS, STEPS, MAX_DIGITS = 4, (1, 5, 10), 5
#: words of half of the lines
MIN_WORDS: Final = 2
#: share of lines beside them that may have several cells, as rows of a table do
CELL_SHARE: Final = 0.3


def without_line_numbers(segments: Sequence[Segment], *, is_numbered: bool = False) -> Sequence[Segment]:
    """Return the segments of a page without a column of line numbers at its left or right margin.

    Items of a list and rows of a table may be numbered, too. Unlike them, numbered lines begin in lower case
    where they go on with a sentence.

    Args:
        segments: in the order in which they were set.
        is_numbered: the lines of the page before are, so that a few numbers are enough.
    """
    numbers = [each for each in segments if each.text.isdecimal() and len(each.text) <= MAX_DIGITS]
    if not numbers or (len(numbers) < MIN_NUMBERS and not is_numbered):
        return segments
    column = max(_columns(numbers), key=len)
    numbered = set(map(id, column))
    others = [each for each in segments if id(each) not in numbered]
    return others if _is_numbering(column, others, is_numbered=is_numbered) else segments


def _columns(numbers: Sequence[Segment]) -> Iterator[list[Segment]]:
    """Yield the longest run of numbers that count lines downwards, for each edge on which some are flush."""
    for edge in (attrgetter("right"), attrgetter("left")):
        flush: list[Segment] = []
        for each in sorted(numbers, key=edge):
            if flush and edge(each) - edge(flush[0]) > SAME_EDGE:
                yield _longest_count(flush)
                flush = []
            flush.append(each)
        yield _longest_count(flush)


def _longest_count(flush: Sequence[Segment]) -> list[Segment]:
    longest: list[Segment] = []
    run: list[Segment] = []
    step = 0
    for each in sorted(flush, key=lambda number: -number.top):
        added = int(each.text) - int(run[-1].text) if run else 0
        if not run or added not in STEPS or (len(run) > 1 and added != step):
            run = run[-1:] if added in STEPS else []
        step = added
        run.append(each)
        longest = max(longest, run, key=len)
    return list(longest)


def _is_numbering(column: Sequence[Segment], others: Sequence[Segment], *, is_numbered: bool) -> bool:
    """Return whether the lines beside the column go on in lower case, as sentences and code do."""
    left, right = min(each.left for each in column), max(each.right for each in column)
    beside = [each for each in others if column[-1].bottom < each.top and each.bottom < column[0].top]
    if any(each.left <= right for each in beside) and any(each.right >= left for each in beside):
        return False  # not at a margin
    if is_numbered or len(column) < MIN_NUMBERS or len(beside) < MIN_NUMBERS:
        return is_numbered
    beside.sort(key=lambda each: -each.top)
    pairs = list(pairwise(beside))
    cells = sum(other.top > one.top - one.height / 2 for one, other in pairs)
    lower = sum(other.text[0].islower() and not CLAUSE_END.search(one.text) for one, other in pairs)
    is_list = lower == len(pairs) and beside[0].text[0].islower()
    is_short = median(each.text.count(" ") + 1 for each in beside) < MIN_WORDS
    return (
        lower >= LOWER_SHARE * len(pairs) and cells <= CELL_SHARE * len(pairs) and not (is_list or is_short)
    )
