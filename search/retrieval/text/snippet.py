"""Snippets: the window of a text with most of a query, with its highlights.

Highlights are (start, end) offsets into the snippet, in code points.

Only those words of a text are analysed that have the beginning of an index term of the query.
"""

import re
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from operator import itemgetter
from string import ascii_lowercase

import numpy as np

from search.retrieval.query.match_units import Analysis, MatchUnit
from search.retrieval.text.plain_text import SEPARATOR, PlainText, Span
from search.retrieval.text.unicode_scripts import (
    ASCII_RUN,
    BEFORE_SPACED,
    BEFORE_UNSPACED,
    BETWEEN_THOUSANDS,
    BORDER,
    HYPHENS,
    NUMBER_SIGN,
    RUN,
    WITHIN_WORD,
    fold,
    has_token,
    is_unspaced,
)

Highlight = Span
Snippet = tuple[str, list[Highlight]]
# Start, end and number of a unit of the query in a text.
_Found = tuple[int, int, int]
# A token of a word with terms of the query: its start and end in the word, where the next token begins, and
# of each term the unit, the position in it, and whether it is a prefix of the token; last positions first.
_Token = tuple[int, int, int, list[tuple[int, int, bool]]]
_position_of = itemgetter(1)

_ELLIPSIS = "…"
# What stands between items, cells and paragraphs.
_SEPARATORS = f" {SEPARATOR}\n"
# What stands before most words.
_BETWEEN = " \n\t\"'`(/.-_<["
# Windows of fewer characters have no ellipsis.
_LEAST_WITH_ELLIPSIS = 20
# Share of the free room of a window that stands before its first match.
_LEAD_SHARE = 4
# Characters that a window gives up to end at a word.
_MOST_CUT = 24
# A stem shares these first characters with its words, at most all but its last: happi, happy.
_STEM_CHARS = 6
_JOINTS = f"[{''.join(sorted(HYPHENS | BETWEEN_THOUSANDS))}]"
# Between the parts of a word. It begins with what is rare, so that others fail at once.
_JOINT = re.compile(rf"{_JOINTS}(?<=\w{_JOINTS})(?=\w)")
# Letters of an index term, and what may stand for them in a folded text.
_SPELLINGS = (
    ("ss", "ß"),
    ("ae", "æ"),
    ("oe", "œ"),
    ("th", "þ"),
    ("ae", "a"),
    ("oe", "o"),
    ("ue", "u"),
)
# A shorter beginning is not looked for between two of these letters, where no part of a name begins.
_SHORT = 3
_SMALL = ascii_lowercase
# What a character is decomposed to by `fold` in a text, and not as a single character.
_DECOMPOSED = re.compile("[\u0e4d\u0ecd].*", re.DOTALL)
# What such a character is in a text.
_COMPOSED = {"\u0e4d": "\u0e33", "\u0ecd": "\u0eb3"}
_SENTENCE_START = re.compile(rf"(?<=[.:!?{SEPARATOR}])\s+|(?<=[。！？])\s*|\n\s*")
# All up to the last of them.
_TO_SENTENCE = re.compile(f"(?s:.*)(?:{_SENTENCE_START.pattern})")
_TO_BORDER = re.compile(rf"(?s:.*)(?={BORDER.pattern}|\s)")


def sentence_starts(text: str, start: int = 0, stop: int = sys.maxsize) -> list[int]:
    """Return where sentences begin after the first one of `text` between `start` and `stop`."""
    return [found.end() for found in _SENTENCE_START.finditer(text, start, stop)]


# By code point: that of the folded character, 0 where it is not known yet.
_FOLDED = np.zeros(sys.maxunicode + 1, "<u4")
_is_single = re.compile(".", re.DOTALL).fullmatch


def _fold_characters(text: str) -> str:
    """Return `text` with each character folded, where that is a single character."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    folded = _FOLDED[codes]
    if not folded.all():
        for code in {*codes[folded == 0].tolist()}:
            forms = fold(chr(code)), chr(code).lower(), chr(code)
            _FOLDED[code] = ord(next(filter(_is_single, forms)))
        folded = _FOLDED[codes]
    octets: bytes = folded.tobytes()
    return octets.decode("utf-32-le", "surrogatepass")


class SnippetBuilder:
    """A builder of snippets for the units of one query."""

    def __init__(self, units: Sequence[MatchUnit], analysis: Analysis, language: str | None) -> None:
        """`language` is that in which the terms of `units` were stemmed."""
        self._last_positions = [len(unit.positions) - 1 for unit in units]
        self._analysis = analysis
        self._language = language
        #: By index term: the units with it, each with the number of its position there, which is no prefix.
        self._places: dict[str, list[tuple[int, int, bool]]] = {}
        self._prefix_places: list[tuple[str, int, int]] = []
        for number, unit in enumerate(units):
            for at, alternatives in enumerate(unit.positions):
                for term in alternatives:
                    if unit.is_prefix and at == self._last_positions[number]:
                        self._prefix_places.append((term, number, at))
                    else:
                        self._places.setdefault(term, []).append((number, at, False))
        terms = {*self._places, *(term for term, _, _ in self._prefix_places)}
        #: What the words of the query have, with its length.
        self._needles = [(each, len(each)) for each in {each for term in terms for each in _needles(term)}]
        self._has_numbers = any(NUMBER_SIGN in term for term in terms)
        #: By word of a text: its length, and its tokens with terms of the query; most have none.
        self._words: dict[str, tuple[int, list[_Token]]] = {}

    def build(
        self, plain: PlainText, max_chars: int, find_passage: Callable[[str], Span | None] | None = None
    ) -> Snippet:
        """Return the window of a text, up to `max_chars` code points, with most distinct units.

        Without any it is the passage that `find_passage` finds in a longer text, else the start. The earliest
        of equally good windows wins. Passages of nothing but links count only if there is nothing else. A
        window begins at a sentence or a word, and ends at a word; `…` stands where it leaves out text.
        """
        text, links = plain
        found = self._find_in_words(text) if self._needles else []
        if not found:
            passage = find_passage(text) if find_passage and len(text) > max_chars else None
            if passage is None:
                start = _first_outside(text, links)
                passage = start, min(len(text), start + max_chars // 2)
            return _cut_window(text, (), passage, max_chars)
        telling = _outside(found, links) if links else found
        passage = _densest_window(telling, max(1, max_chars - 2))
        return _cut_window(text, found, passage, max_chars)

    def _find_in_words(self, text: str) -> list[_Found]:
        """Find the units in `text`, in order, also across what stands within a word."""
        is_ascii = text.isascii()
        if is_ascii or WITHIN_WORD.search(text) is None:
            return self._find_units(text, is_ascii=is_ascii)
        kept: list[int] = []
        end = 0
        for left_out in WITHIN_WORD.finditer(text):
            kept += range(end, left_out.start())
            end = left_out.end()
        kept += range(end, len(text))
        found = self._find_units("".join([text[at] for at in kept]), is_ascii=False)
        return [(kept[start], kept[end - 1] + 1, unit) for start, end, unit in found]

    def _find_units(self, text: str, *, is_ascii: bool) -> list[_Found]:
        """Find the units in `text`, in order. A phrase is found where its tokens follow each other."""
        found: list[_Found] = []
        chars, turned = len(text), text[::-1]
        #: By unit and position: the start of a phrase, and where its next token must begin.
        begun: dict[tuple[int, int], tuple[int, int]] = {}
        lowered = text.lower()
        folded = lowered if is_ascii else _fold_characters(text)
        match, words, end = (ASCII_RUN if is_ascii else RUN).match, self._words, 0
        for offset in self._find_needles(text, folded):
            if offset < end:
                continue
            if offset > end and text[offset - 1] not in _BETWEEN:
                before = BEFORE_UNSPACED if is_unspaced(text[offset]) else BEFORE_SPACED
                inner = before.match(turned, chars - offset, chars - end)
                offset -= 0 if inner is None else len(inner[0])
            run = match(text, offset)
            if run is None:
                continue
            word = run[0]
            if word not in words:
                words[word] = len(word), self._tokens(word)
            size, tokens = words[word]
            end = offset + size
            for low, high, until, places in tokens:
                for unit, at, is_prefix in places:
                    start = offset + low
                    if at:
                        start, expected = begun.get((unit, at - 1), (0, -1))
                        if not _is_adjacent(text, expected, offset + low):
                            continue
                    if at < self._last_positions[unit]:
                        begun[unit, at] = start, offset + until
                    else:
                        # A prefix is a single character, which matches the first one of a bigram.
                        found.append((start, offset + (until if is_prefix else high), unit))
        found += self._find_joined(text, lowered)
        found.sort()
        return found

    def _find_joined(self, text: str, lowered: str) -> Iterator[_Found]:
        """Find the units that are one word where `text` has it in parts, as email where it has `e-mail`."""
        if not self._has_numbers:
            without, joints = _JOINT.subn("", lowered)
            if not joints:
                return
            for needle, _ in self._needles:
                if needle in without and without.count(needle) > lowered.count(needle):
                    break
            else:
                return
        for start, end, terms in self._analysis.joined_tokens(text, self._language):
            for unit, at, _ in {place for term in terms for place in self._places.get(term, ())}:
                if at == self._last_positions[unit] == 0:
                    yield start, end, unit

    def _find_needles(self, text: str, folded: str) -> list[int]:
        """Find the places in `text` where a word with terms of the query may be, in order."""
        places: list[int] = []
        for needle, size in self._needles:
            if needle in folded:
                ends = accumulate(map(len, folded.split(needle)[:-1]))
                found = [end + size * before for before, end in enumerate(ends)]
                if size < _SHORT:
                    found = [at for at in found if not (at and text[at - 1] in _SMALL and text[at] in _SMALL)]
                places += found
        places.sort()
        return places

    def _tokens(self, word: str) -> list[_Token]:
        """Return the tokens of `word` that have terms of the query."""
        found, of_term = [], self._places
        tokens = self._analysis.word_tokens(word, self._language)
        for number, (low, high, terms) in enumerate(tokens, start=1):
            places: list[tuple[int, int, bool]] = []
            for term in terms:
                if term in of_term:
                    places += of_term[term]
            for prefix, unit, at in self._prefix_places:
                if any(term.startswith(prefix) for term in terms):
                    places.append((unit, at, True))
            if places:
                if places[1:]:
                    places = sorted(dict.fromkeys(places), key=_position_of, reverse=True)
                until = tokens[number][0] if number < len(tokens) else high
                found.append((low, high, until, places))
        return found


def _needles(term: str) -> Iterator[str]:
    """Return what a folded word has that has `term`."""
    if is_unspaced(term[0]):
        if term[0] in _COMPOSED:
            yield from (term[0], _COMPOSED[term[0]])
            return
        yield from {_DECOMPOSED.sub("", term), _DECOMPOSED.sub("", unicodedata.normalize("NFD", term))}
    elif len(term) <= _SHORT:
        yield term[:2]
    else:
        yield term[:-1][:_STEM_CHARS]
        for letters, letter in _SPELLINGS:
            if letters in term:
                yield term.replace(letters, letter)[:-1][:_STEM_CHARS]


def _is_adjacent(text: str, expected: int, start: int) -> bool:
    return 0 <= expected <= start and (expected == start or not has_token(text[expected:start]))


def _outside(found: Sequence[_Found], links: Iterable[Span]) -> Sequence[_Found]:
    """Return those of `found` that are outside of `links`, or all of them if none is."""
    return [each for each in found if not any(low <= each[0] < high for low, high in links)] or found


def _first_outside(text: str, links: Iterable[Span]) -> int:
    """Return where the first passage begins that has more than links; 0 if there is none."""
    start = 0
    for low, high in links:
        if text[start:low].strip(_SEPARATORS):
            break
        start = high
    rest = text[start:].lstrip(_SEPARATORS)
    return len(text) - len(rest) if rest else 0


def _densest_window(found: Sequence[_Found], max_chars: int) -> Highlight:
    """Return the start and end of the matches in the earliest window with most distinct units."""
    ends = list(accumulate([end for _, end, _ in found], max))
    if ends[-1] - found[0][0] <= max_chars:
        return found[0][0], ends[-1]
    size = len(found)
    counts: dict[int, int] = defaultdict(int)
    best, most, distinct, after = (0, 0), 0, 0, 0
    for first, (start, _, unit) in enumerate(found):
        while after <= first or (after < size and ends[after] <= start + max_chars):
            distinct += not counts[found[after][2]]
            counts[found[after][2]] += 1
            after += 1
        if distinct > most:
            best, most = (first, after), distinct
        counts[unit] -= 1
        distinct -= not counts[unit]
    first, after = best
    return found[first][0], max([end for _, end, _ in found[first:after]])


def _cut_window(text: str, found: Iterable[_Found], passage: Highlight, max_chars: int) -> Snippet:
    """Return the window that holds `passage`, or its start, and the highlights in it."""
    length = len(text.rstrip())
    begins = len(text) - len(text.lstrip()) if text[:1].isspace() else 0
    if length - begins <= max_chars:
        return _slice(text, found, begins, max(begins, length), 0, 0)
    dots = 1 if max_chars >= _LEAST_WITH_ELLIPSIS else 0
    room = max_chars - 2 * dots
    low = begins if passage[1] - begins <= room else _start_before(text, passage, begins, length, room)
    lead = dots if low > begins else 0
    high = length
    if length - low > max_chars - lead:
        high = _end_at_word(text, low, min(passage[1], low + room), low + max_chars - lead - dots)
    return _slice(text, found, low, high, lead, dots if high < length else 0)


def _start_before(text: str, passage: Highlight, begins: int, length: int, room: int) -> int:
    """Return a start of the window at a sentence, else at a word a little before `passage`."""
    start, end = passage
    spare = max(0, room - (end - start))
    if sentence := _TO_SENTENCE.match(text, max(begins, start - spare), start):
        return sentence.end()
    earliest = max(begins, start - spare, min(start - spare // _LEAD_SHARE, length - room))
    border = BORDER.search(text, earliest, start)
    return start if border is None else border.start()


def _end_at_word(text: str, low: int, least: int, high: int) -> int:
    """Return the last border of words up to `high`, not before `least`; `high` if none is near."""
    border = _TO_BORDER.match(text, max(least, high - _MOST_CUT, low + 1), high + 1)
    return high if border is None else low + len(text[low : border.end()].rstrip(_SEPARATORS))


def _slice(text: str, found: Iterable[_Found], begin: int, high: int, lead: int, tail: int) -> Snippet:
    """Return a window with `lead` and `tail` ellipses around it, and the highlights in it.

    Matches that overlap or have a single symbol between them are one highlight: next.js is one.
    """
    low, before = begin - lead, -2
    marks: list[Highlight] = []
    for start, end in [(start, end) for start, end, _ in found if start <= high and end >= begin]:
        is_next = start == before + 1 and not (text[before].isspace() or has_token(text[before]))
        if start <= before or is_next:
            start, end = marks.pop()[0], max(before, end)
        marks.append((start, end))
        before = end
    inside = [
        ((start if start > begin else begin) - low, (end if end < high else high) - low)
        for start, end in marks
        if start < high and end > begin
    ]
    return _ELLIPSIS * lead + text[begin:high].replace(SEPARATOR, "·") + _ELLIPSIS * tail, inside
