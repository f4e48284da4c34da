"""Numbers that are written in parts, as one term: dates, versions, clauses, hosts, codes, numbers of papers.

The notations of one number share a term: `19.02.2026`, `February 19, 2026` and `2026-02-19`; `INV-2024-0117`,
`INV 2024 0117` and `INV20240117`. Such a term has a sign that nobody types, so that no word equals it.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Final

from search.retrieval.query.stopwords import read_word_lists
from search.retrieval.text.unicode_scripts import HYPHENS, NUMBER_SIGN, RUN, fold


class NumberKind(StrEnum):
    """The kinds of numbers in parts."""

    #: A day, or only its month or its day and month.
    DATE = "date"
    #: A version, clause, section, host or decimal.
    DOTTED = "dotted"
    #: An invoice, order, part, phone or account number, an ISBN.
    CODE = "code"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenNumber:
    """A number in a text, by its first and last run."""

    first: int
    last: int
    kind: NumberKind
    #: The terms of what it may mean; several if its notation is ambiguous.
    readings: tuple[str, ...]
    #: Terms of what it belongs to: the month of a day, the part number without its variant.
    wider: tuple[str, ...] = ()

    @property
    def terms(self) -> tuple[str, ...]:
        """Return its readings, then the wider terms."""
        return self.readings + self.wider


#: Names of the months by language.
MONTH_FILE: Final = Path(__file__).with_name("months.txt")
#: Folded name of a month, in any language -> its number.
MONTHS: Final = {
    fold(name): number
    for names in read_word_lists(MONTH_FILE).values()
    for number, forms in enumerate(names.split(), start=1)
    for name in forms.split("/")
}
# Words for "of".
_OF: Final = frozenset({"of", "de", "del", "di", "do", "den", "al"})
# What stands beside the number of a date with words, as people write it.
_NAMES: Final = _OF.union(
    form
    for names in read_word_lists(MONTH_FILE).values()
    for name in names.replace("/", " ").split()
    for form in (name, name.capitalize(), name.upper(), fold(name), fold(name).capitalize())
)
# Names of months that are words as well; beside those of three letters.
_WORDS: Final = frozenset({"march", "mars", "mart", "maju"})
_SHORT_NAME: Final = 3
_DIGITS: Final = re.compile(r"\d+")
_DAY: Final = re.compile(r"(\d{1,2})(?:st|nd|rd|th|er|e|º|ª|°)?", re.IGNORECASE)
_DAY_OF_TIME: Final = re.compile(r"(\d\d)T\d\d", re.ASCII)
_YEAR: Final = re.compile(r"1[5-9]\d\d|20\d\d|2[01]\d\d")
_COMPACT_DATE: Final = re.compile(r"(19\d\d|20\d\d)(\d\d)(\d\d)")
# Between day, month and year.
_BETWEEN_NAMES: Final = re.compile(r"[.,]?[ \t\u00a0\u202f]|[.,/-]|[.,]?[ \t]?\n")
_CJK_DATE: Final = (("年", "년"), ("月", "월"), ("日", "일", "号", "號"))
_SPACES: Final = frozenset(" \u00a0\u202f\u2009")
_DIVIDERS: Final = frozenset({*HYPHENS, *_SPACES, *"./_\u2013", ") ", " (", ")", "(", " - ", " \u2013 "})
_CHAINING: Final = _DIVIDERS | {",", ". "}
_TIGHT: Final = frozenset({*HYPHENS, *"/_"})
# A code in one run: INV20240117, PC200X, but not sha256 or x86.
_CODE: Final = re.compile(r"([A-Z]{1,6}\d{3,}|[A-Za-z]{1,6}\d{4,})([A-Za-z]{1,2})?", re.ASCII)
_PREFIX: Final = re.compile(r"[A-Za-z]{1,6}\d*|[A-Z]{2,6}", re.ASCII)
_PREFIX_APART: Final = re.compile(r"[A-Z]{2,5}|[A-Za-z]{2}\d\d", re.ASCII)
_MAYBE_PREFIX: Final = re.compile(r"[A-Za-z]{2,5}", re.ASCII)
_SUFFIX: Final = re.compile(r"[A-Z]{1,2}", re.ASCII)
_LEAST_CHARS_OF_RUN = 4
_MOST_PARTS = 10
_MOST_CHARS = 40
# Digits of a code with letters before it, and of one without.
_DIGITS_AFTER_LETTERS = 3
_LEAST_DIGITS = 7
# From so many on, letters before a blank are a label: ISBN 978 3 16 148410 0.
_DIGITS_AFTER_LABEL = 9
_PARTS_OF_HOST = 4


def written_numbers(
    runs: Sequence[str], separators: Sequence[str], candidates: Sequence[int], language: str | None = None
) -> Iterator[WrittenNumber]:
    """Yield the numbers in parts of a text, in order.

    `separators` are the texts between the runs, one fewer than these; `candidates` are the indexes of the
    runs with a digit. In `language`, unless it is English or unknown, the day stands before the month.
    """
    reader = _Reader(runs, separators, is_day_first=language not in (None, "en"))
    after = 0
    for at in candidates:
        if at >= after and (found := reader.read(at, after)) is not None:
            yield found
            after = found.last + 1


@lru_cache(maxsize=1_024)
def find_numbers(text: str) -> tuple[tuple[int, int, WrittenNumber], ...]:
    """Return the numbers in parts of a short text in order, each with its start and end in characters."""
    if _DIGITS.search(text) is None:
        return ()
    pieces = RUN.split(text)
    borders = list(accumulate(map(len, pieces)))
    runs = pieces[1::2]
    candidates = [at for at, run in enumerate(runs) if _DIGITS.search(run)]
    return tuple(
        (borders[2 * each.first], borders[2 * each.last + 1], each)
        for each in written_numbers(runs, pieces[2:-1:2], candidates)
    )


def code_terms(run: str) -> tuple[str, ...]:
    """Return the terms of a run that is a code as a whole, of the code without its variant, or of a date."""
    found = _read_run(run, 0)
    return () if found is None else found.terms


def readable(number: WrittenNumber) -> tuple[str, ...]:
    """Return the readings of a number as people write them: 2026-02-19, --02-19, 5.6."""
    if number.kind is not NumberKind.DATE:
        return tuple(term.rstrip(NUMBER_SIGN).replace(NUMBER_SIGN, ".") for term in number.readings)
    return tuple("-" * (term[0] == NUMBER_SIGN) + term.replace(NUMBER_SIGN, "-") for term in number.readings)


class _Reader:
    """A reader of the numbers in one text."""

    def __init__(self, runs: Sequence[str], separators: Sequence[str], *, is_day_first: bool) -> None:
        self._runs = runs
        self._separators = separators
        self._is_day_first = is_day_first

    def read(self, at: int, after: int) -> WrittenNumber | None:
        """Return the number whose first run with digits is at `at`; it begins at `after` or later."""
        runs, separators = self._runs, self._separators
        run, is_last = runs[at], at + 1 == len(runs)
        found = None
        if (at and runs[at - 1] in _NAMES) or (not is_last and runs[at + 1] in _NAMES):
            found = self._read_named(at, after)
        elif not is_last and runs[at + 1].startswith(_CJK_DATE[0]):
            found = self._read_cjk(at)
        if found is not None:
            return found
        if not is_last and runs[at + 1][0].isdecimal() and separators[at] in _CHAINING:
            found = self._read_chain(at, after, separators[at])
        elif (at > after and not runs[at - 1].islower()) or (at > after and separators[at - 1] in _TIGHT):
            found = self._read_code(at, at, after)
        return found or (_read_run(run, at) if len(run) >= _LEAST_CHARS_OF_RUN else None)

    def _read_named(self, at: int, after: int) -> WrittenNumber | None:
        """Read a date with the name of its month, before the day or the year, or after the day."""
        runs = self._runs
        before = self._month_before(at, after)
        day = _DAY.fullmatch(runs[at])
        if day is not None:
            number = int(day[1])
            if before is not None:
                year = self._year_after(at)
                return _date(before[0], at if year is None else year[0], year and year[1], before[1], number)
            month = self._month_after(at)
            if month is None:
                return None
            year = self._year_after(month[0])
            if year is None and not _is_name(runs[month[0]]):
                return None
            return _date(at, month[0] if year is None else year[0], year and year[1], month[1], number)
        if before is not None and _YEAR.fullmatch(fold(runs[at])):
            return _date(before[0], at, int(runs[at]), before[1], None)
        return None

    def _month_before(self, at: int, after: int) -> tuple[int, int] | None:
        place = at - 1
        if place >= after and fold(self._runs[place]) in _OF:
            place -= 1
        if place < after or not _BETWEEN_NAMES.fullmatch(self._separators[place]):
            return None
        name = self._runs[place]
        month = MONTHS.get(fold(name)) if name[0].isalpha() else None
        is_followed = _YEAR.fullmatch(self._runs[at]) or self._year_after(at) is not None
        return (place, month) if month and (is_followed or _is_name(name)) else None

    def _month_after(self, at: int) -> tuple[int, int] | None:
        place = self._after(at)
        month = None if place is None else MONTHS.get(fold(self._runs[place]))
        return None if place is None or month is None else (place, month)

    def _year_after(self, at: int) -> tuple[int, int] | None:
        place = self._after(at)
        year = None if place is None else _YEAR.fullmatch(fold(self._runs[place]))
        return None if place is None or year is None else (place, int(year[0]))

    def _after(self, at: int) -> int | None:
        """Return the index of the next run within a date, beyond a word for "of"."""
        for place in range(at, min(at + 2, len(self._separators))):
            if not _BETWEEN_NAMES.fullmatch(self._separators[place]):
                return None
            if fold(self._runs[place + 1]) not in _OF:
                return place + 1
        return None

    def _read_cjk(self, at: int) -> WrittenNumber | None:
        runs = [fold(run) for run in self._runs[at : at + 6]]
        if len(runs) < 6 or not all(
            run.startswith(signs) for run, signs in zip(runs[1::2], _CJK_DATE, strict=True)
        ):
            return None
        year, month, day = runs[::2]
        if not (_YEAR.fullmatch(year) and month.isdecimal() and day.isdecimal()):
            return None
        return _date(at, at + 5, int(year), int(month), int(day))

    def _read_chain(self, at: int, after: int, separator: str) -> WrittenNumber | None:
        """Read a number whose parts have one divider between them, else a code.

        A chain of more parts is none, from whichever part on it is read.
        """
        kind = HYPHENS if separator in HYPHENS else {separator}
        if at > after and self._separators[at - 1] in kind and self._begins_part(at - 1):
            return None
        last = self._last_of_chain(at, kind)
        if last - at >= _MOST_PARTS:
            return None
        parts = [fold(part) for part in self._runs[at : last + 1]]
        if separator in (".", ". ") or separator in _TIGHT:
            found = self._read_date(at, parts)
            if found is not None:
                return found
        if separator == ".":
            return _dotted(at, last, parts)
        if separator in (",", ". "):
            is_decimal = (
                separator == "," and last == at + 1 and "".join(parts).isdecimal() and len(parts[1]) < 3
            )
            return _dotted(at, last, parts) if is_decimal else None
        return self._read_code(at, last, after)

    def _last_of_chain(self, last: int, dividers: Collection[str]) -> int:
        """Return the index of the last run of a chain of digits, of more than the most parts one too many."""
        end = min(last + _MOST_PARTS, len(self._separators))
        while last < end and self._separators[last] in dividers and self._begins_part(last + 1):
            last += 1
        return last

    def _begins_part(self, at: int) -> bool:
        return self._runs[at][0].isdecimal()

    def _read_date(self, at: int, parts: Sequence[str]) -> WrittenNumber | None:
        if len(parts) < 3:
            return self._read_month(at, parts)
        first, second, third = parts[:3]
        if time := _DAY_OF_TIME.fullmatch(self._runs[at + 2]):
            third = time[1]
        if not (first.isdecimal() and second.isdecimal() and third.isdecimal()):
            return None
        if _YEAR.fullmatch(first):
            return _date(at, at + 2, int(first), int(second), int(third))
        if len(parts) > 3 or not (len(first) <= 2 >= len(second)):
            return None
        if len(third) == 2 and (len(first + second) == 4 or self._separators[at] == "/"):
            third = f"20{third}"
        if not _YEAR.fullmatch(third):
            return None
        return self._read_day_month(at, int(third), int(first), int(second))

    def _read_day_month(self, at: int, year: int, first: int, second: int) -> WrittenNumber | None:
        """Read a date that ends with its year; of two possible orders both unless the language has one."""
        day_first = _date(at, at + 2, year, second, first)
        month_first = _date(at, at + 2, year, first, second)
        is_dotted = self._separators[at].startswith(".")
        if day_first is None or month_first is None or first == second:
            return day_first if is_dotted else day_first or month_first
        if is_dotted or self._is_day_first:
            return day_first
        # As it is written, too: the other notation of the other day has the same two readings.
        written = _join(str(first), str(second), str(year))
        return WrittenNumber(
            first=at,
            last=at + 2,
            kind=NumberKind.DATE,
            readings=(*day_first.readings, *month_first.readings, written),
            wider=(*day_first.wider, *month_first.wider),
        )

    def _read_month(self, at: int, parts: Sequence[str]) -> WrittenNumber | None:
        """Read a month with its year: 2026-02, 02/2026."""
        if len(parts) != 2 or self._separators[at].startswith("."):
            return None
        year, month = parts if _YEAR.fullmatch(parts[0]) else parts[::-1]
        if at and self._separators[at - 1] in _TIGHT and _PREFIX_APART.fullmatch(self._runs[at - 1]):
            return None
        if not (_YEAR.fullmatch(year) and month.isdecimal() and len(month) <= 2):
            return None
        return _date(at, at + 1, int(year), int(month), None)

    def _read_code(self, at: int, last: int, after: int) -> WrittenNumber | None:
        """Read a code with any dividers, with letters before it or enough digits."""
        runs, separators = self._runs, self._separators
        first, last = at, self._last_of_chain(last, _DIVIDERS)
        is_apart = False
        if at > after and runs[at][0].isdecimal():
            before = separators[at - 1]
            is_apart = before in _SPACES
            pattern = _PREFIX_APART if is_apart or before in ("/", ".") else _PREFIX
            if (is_apart or before in _TIGHT or before == ".") and pattern.fullmatch(runs[at - 1]):
                first = at - 1
        digits = "".join(_DIGITS.findall("".join(runs[at : last + 1])))
        if last == first or last - at >= _MOST_PARTS or self._is_years(first, last):
            return None
        if last < len(separators) and separators[last] in HYPHENS and _SUFFIX.fullmatch(runs[last + 1]):
            last += 1
        has_letters = first < at or not runs[at][0].isdecimal()
        if len(digits) < (_DIGITS_AFTER_LETTERS if has_letters else _LEAST_DIGITS):
            return None
        if is_apart and first < at and runs[first].isalpha() and len(digits) >= _DIGITS_AFTER_LABEL:
            first = at
        found = _code(first, last, fold("".join(runs[first : last + 1])))
        if found is not None and is_apart and first == at and _MAYBE_PREFIX.fullmatch(runs[at - 1]):
            return replace(found, readings=(*found.readings, fold(runs[at - 1]) + found.readings[0]))
        return found

    def _is_years(self, first: int, last: int) -> bool:
        return all(_YEAR.fullmatch(run) for run in self._runs[first : last + 1])


def _is_name(run: str) -> bool:
    """Return whether a run is the name of a month without a year beside it: not `may`, `out`, `march`."""
    return run[0].isupper() or (len(run) > _SHORT_NAME and fold(run) not in _WORDS)


def _join(*parts: str) -> str:
    return NUMBER_SIGN.join(parts)


def _date(first: int, last: int, year: int | None, month: int, day: int | None) -> WrittenNumber | None:
    """Return a day, or a month of a year, or a day of any year; None for what is in no calendar."""
    if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
        return None
    of_year = "" if year is None else str(year)
    of_month = _join(of_year, f"{month:02}")
    if day is None:
        return WrittenNumber(first=first, last=last, kind=NumberKind.DATE, readings=(of_month,))
    term = _join(of_month, f"{day:02}")
    wider = (_join("", f"{month:02}", f"{day:02}"), of_month) if year is not None else ()
    return WrittenNumber(first=first, last=last, kind=NumberKind.DATE, readings=(term,), wider=wider)


def _dotted(first: int, last: int, parts: Sequence[str]) -> WrittenNumber | None:
    """Return a version or clause: without letters before it, of three parts and more without padding."""
    start = _DIGITS.search(parts[0])
    if start is None or sum(map(len, parts)) > _MOST_CHARS:
        return None
    bare = [parts[0][start.start() :], *parts[1:]]
    readings = [_join(*bare)]
    if len(bare) > 2:
        readings = [_join(*(part.lstrip("0") or "0" if part.isdecimal() else part for part in bare))]
        digits = "".join(bare)
        is_code = len(bare) != _PARTS_OF_HOST and min(map(len, bare)) > 1 and digits.isdecimal()
        if is_code and len(digits) >= _LEAST_DIGITS:
            readings.append(digits + NUMBER_SIGN)
    return WrittenNumber(first=first, last=last, kind=NumberKind.DOTTED, readings=tuple(readings))


def _code(first: int, last: int, form: str) -> WrittenNumber | None:
    if len(form) > _MOST_CHARS or not form.isalnum():
        return None
    bare = form.rstrip("abcdefghijklmnopqrstuvwxyz")
    wider = (bare + NUMBER_SIGN,) if 0 < len(form) - len(bare) <= 2 else ()
    return WrittenNumber(
        first=first, last=last, kind=NumberKind.CODE, readings=(form + NUMBER_SIGN,), wider=wider
    )


def _read_run(run: str, at: int) -> WrittenNumber | None:
    """Read a code, or a date without dividers, in a single run."""
    form = fold(run)
    if form.isdecimal():
        if date := _COMPACT_DATE.fullmatch(form):
            found = _date(at, at, *map(int, date.groups()))
            if found is not None:
                return found
        return _code(at, at, form) if len(form) >= _LEAST_DIGITS else None
    return _code(at, at, form) if _CODE.fullmatch(run) else None
