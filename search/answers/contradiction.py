"""Comparison of the numbers in parts of a question and of a text, so that no answer has another one."""

import re
from collections.abc import Hashable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from search.analysis.numbers import NumberKind, WrittenNumber, find_numbers
from search.retrieval.text.unicode_scripts import NUMBER_SIGN, fold, words_of

_LABEL: Final = re.compile(r"([^\W\d_]+|§+)[.:]?[^\S\n]*\Z")
_LABEL_CHARS: Final = 60
# Words before a day from or up to which is asked, so that other days answer.
_RANGES: Final = (
    "after before since until till from between and to than nach vor seit bis ab zwischen und als apres avant"
    " depuis jusqu jusque entre et desde hasta despues antes y dopo prima dal fino e na voor sinds tot vanaf"
)
_OF_RANGES: Final = frozenset(_RANGES.split())
# Words on a line before a number that the line is about: one before a clause, as `3.5` may be a decimal in a
# sentence; three before a day, as in `Minutes of the 19. 2. 2026`.
_WORDS_BEFORE: Final = 1
_WORDS_BEFORE_DAY: Final = 3


class Agreement(IntEnum):
    """The relation of a text to the numbers of a question, the best last."""

    #: It has others of their kind and none of them.
    CONTRADICTS = -1
    #: It has none of their kind.
    SILENT = 0
    MENTIONS = 1
    #: One of them begins a line, or a heading.
    IS_ABOUT = 2


@dataclass(frozen=True, slots=True)
class _Placed:
    """A number in a text."""

    number: WrittenNumber
    #: The word before it, folded, '' for none.
    label: str
    #: Number of words before it on its line.
    words_before: int

    @property
    def leads(self) -> bool:
        """Return whether its line is about it."""
        return self.words_before <= _WORDS_BEFORE

    @property
    def shape(self) -> Hashable:
        """Return what numbers have in common that can be taken for each other."""
        term = self.number.readings[0]
        if self.number.kind is NumberKind.DOTTED:
            return self.number.kind, term.count(NUMBER_SIGN)
        if self.number.kind is NumberKind.DATE:
            return self.number.kind, 0
        return self.number.kind, term[0].isalpha()

    @property
    def series(self) -> Hashable:
        """Return the letters of a code, or its length if it has none; None for other numbers."""
        if self.number.kind is not NumberKind.CODE:
            return None
        term = self.number.readings[0]
        return term.rstrip(NUMBER_SIGN).rstrip("0123456789") or len(term)

    @property
    def may_be_another(self) -> bool:
        """Return whether a text that has it is about it, and not about a number of the same shape."""
        if self.number.kind is NumberKind.DATE:
            return self.words_before <= _WORDS_BEFORE_DAY
        is_long = self.number.kind is NumberKind.DOTTED and self.number.readings[0].count(NUMBER_SIGN) > 1
        return self.leads or is_long

    def agrees(self, other: "_Placed") -> bool:
        """Return whether a text with `other` has this number, or a part of it: 5.6.1 of 5.6."""
        mine, others = self.number, other.number
        if not set(mine.readings).isdisjoint(others.terms) or not set(others.readings).isdisjoint(mine.wider):
            return True
        stems = tuple(each.rstrip(NUMBER_SIGN) for each in mine.readings)
        if mine.kind is NumberKind.DOTTED:
            stems = tuple(f"{stem}{NUMBER_SIGN}" for stem in stems)
        return mine.kind is not NumberKind.DATE and any(each.startswith(stems) for each in others.readings)


@dataclass(frozen=True, slots=True)
class AskedNumbers:
    """The numbers in parts of a question that its answer has to be about."""

    numbers: tuple[_Placed, ...]

    @classmethod
    def of(cls, question: str) -> "AskedNumbers":
        """Return those of a question, without the bounds of a range of days."""
        placed = _place_numbers(question)
        return cls(tuple(each for each in placed if not _is_bound(each)))

    def __bool__(self) -> bool:
        return bool(self.numbers)

    def judge(self, text: str, *, is_within: bool = False) -> Agreement:
        """Return whether a text is about the numbers, or contradicts any of them.

        `is_within` says that what it is part of is about them, so that others are mostly figures.
        """
        if not self.numbers:
            return Agreement.SILENT
        found = _place_numbers(text)
        shapes = {each.shape for each in self.numbers}
        verdicts = [self._judge_shape(shape, found, is_within=is_within) for shape in shapes]
        return Agreement.CONTRADICTS if Agreement.CONTRADICTS in verdicts else max(verdicts)

    def _judge_shape(self, shape: Hashable, found: tuple[_Placed, ...], *, is_within: bool) -> Agreement:
        asked = [each for each in self.numbers if each.shape == shape]
        agreeing = [other for other in found if any(each.agrees(other) for each in asked)]
        if agreeing:
            return Agreement.IS_ABOUT if any(each.leads for each in agreeing) else Agreement.MENTIONS
        labels = {each.label for each in asked if each.label}
        series = {each.series for each in asked if each.series}
        others = [each for each in found if each.shape == shape]
        is_contradicted = any(
            each.label in labels
            or (each.leads if is_within else each.may_be_another or each.series in series)
            for each in others
        )
        return Agreement.CONTRADICTS if is_contradicted else Agreement.SILENT


def _place_numbers(text: str) -> tuple[_Placed, ...]:
    return tuple(_place(text, start, number) for start, _, number in find_numbers(text))


def _place(text: str, start: int, number: WrittenNumber) -> _Placed:
    line = text[text.rfind("\n", 0, start) + 1 : start]
    label = _LABEL.search(line[-_LABEL_CHARS:])
    word = "" if label is None else fold(label[1])
    before = len(words_of(line)) if len(line) <= _LABEL_CHARS else _LABEL_CHARS
    return _Placed(number, word, before)


def _is_bound(placed: _Placed) -> bool:
    return placed.number.kind is NumberKind.DATE and placed.label in _OF_RANGES
