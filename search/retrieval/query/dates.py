"""Years, months and days as people write them, and the times that they span."""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

#: Its first moment, and the first one behind it; those of a moment are the same.
Period = tuple[datetime, datetime]

_FORM = re.compile(r"\d{1,4}(?:([-/.])\d{1,4}(?:\1\d{1,4})?)?", re.ASCII)
_BETWEEN = re.compile("[-/.]")
_FIRST_YEAR: Final = 1_000
_MONTHS: Final = 12
_LAST: Final = datetime.max.replace(tzinfo=UTC)
_LEAST_ISO_CHARS: Final = len("2026-01-31")


def read_period(text: str) -> Period | None:
    """Return the times of a year, month, day or moment, in UTC if it states no zone; None for another text.

    Of dates that have the year last, the day is first with dots (31.01.2026), else where it is above 12.
    """
    try:
        if parts := _read_parts(text):
            return _span(*parts)
        moment = datetime.fromisoformat(text) if len(text) >= _LEAST_ISO_CHARS else None
        if moment is not None:
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            moment.timestamp()
    except (ValueError, OverflowError):
        return None
    return None if moment is None else (moment, moment)


def _read_parts(text: str) -> tuple[int, int, int] | None:
    """Return year, month and day, 0 for what isn't stated; None for another text."""
    form = _FORM.fullmatch(text)
    if form is None:
        return None
    match [int(part) for part in _BETWEEN.split(text)], form[1]:
        case [year], None if year >= _FIRST_YEAR:
            return year, 0, 0
        case [year, month], "-" | "/" if year >= _FIRST_YEAR:
            return year, month, 0
        case [month, year], "-" | "/" if year >= _FIRST_YEAR:
            return year, month, 0
        case [year, month, day], _ if year >= _FIRST_YEAR:
            return year, month, day
        case [day, month, year], sign if year >= _FIRST_YEAR and (sign == "." or day > _MONTHS):
            return year, month, day
        case [month, day, year], _ if year >= _FIRST_YEAR and day > _MONTHS:
            return year, month, day
    return None


def _span(year: int, month: int, day: int) -> Period:
    """Return the times of a date. Raises ValueError."""
    first = date(year, month or 1, day or 1)
    try:
        if day:
            behind = first + timedelta(days=1)
        elif month:
            behind = date(year + month // _MONTHS, month % _MONTHS + 1, 1)
        else:
            behind = date(year + 1, 1, 1)
    except (ValueError, OverflowError):  # the end of the calendar
        return _midnight(first), _LAST
    return _midnight(first), _midnight(behind)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)


def iso_form(text: str) -> str | None:
    """Return a year, month or day as ISO 8601 writes it; None for another text."""
    parts = _read_parts(text)
    if parts is None or read_period(text) is None:
        return None
    year, *others = parts
    return "-".join([f"{year}", *(f"{part:02}" for part in others if part)])
