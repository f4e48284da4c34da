"""Numbers of workbooks as their cells show them (ECMA-376 part 1, section 18.8.31), in English signs."""

import datetime
import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Final

_TOKEN: Final = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|[_*].|\[\$(?P<currency>[^\]-]*)[^\]]*\]|\[[^\]]*\]'
    r"|(?P<digit>[0#?])|(?P<power>[Ee][+-])|(?P<other>.)",
    re.DOTALL,
)
_SECTION: Final = re.compile(r'((?:"[^"]*"|\\.|\[[^\]]*\]|[^;])*)(?:;|$)')
_CONDITION: Final = re.compile(r"\[(?P<sign><=|>=|<>|<|>|=)(?P<limit>-?\d{1,15}(?:\.\d{1,15})?)\]")
_GENERAL: Final = re.compile(r"General", re.IGNORECASE)
_FRACTION: Final = re.compile(r"[#0?]* ?(?P<above>[?#0]+)/(?P<below>[?#0]+|\d+)")
#: Formats of dates, which are no numbers here, and text.
_NO_NUMBER: Final = re.compile(r"[ymdhsgb@]", re.IGNORECASE)
_DAY_TOKEN: Final = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|\[[^\]]*\]|[_*].|(?P<field>y+|m+|d+|h+|s+)|(?P<other>.)',
    re.I | re.S,
)
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October"),
    *("November", "December"),
)
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_GROUPS: Final = re.compile(r"(?<=\d)(?=(?:\d{3})+$)")
_MOST_DIGITS: Final = 30
_COMPARISONS: Final = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}


@dataclass(frozen=True, slots=True)
class _Section:
    #: Placeholders `0#?` and `.`; other texts stand as they are.
    tokens: tuple[tuple[bool, str], ...]
    decimals: int
    has_groups: bool
    #: The number is multiplied by ten to this power.
    shift: int
    exponent_digits: int
    #: Comparison and limit of the numbers that it is for, None where its place says that.
    condition: tuple[str, float] | None


@lru_cache(maxsize=512)
def _sections(code: str) -> tuple[_Section | None, ...]:
    # The last match is the empty text at the end.
    return tuple(map(_parse_section, (_SECTION.findall(code)[:-1] or [code])[:3]))


def _parse_section(code: str) -> _Section | None:
    """Return the section; None for one that shows no number, or in a way that is not known here."""
    tokens: list[tuple[bool, str]] = []
    plain = ""
    exponent = decimals = percents = 0
    is_exponent = False
    condition = _CONDITION.search(code)
    for found in _TOKEN.finditer(code):
        kind, text = found.lastgroup, found[found.lastgroup] if found.lastgroup else ""
        if kind == "power":
            is_exponent = True
        elif kind == "digit" and is_exponent:
            exponent += 1
        elif kind == "digit" or (kind == "other" and text == "."):
            decimals += kind == "digit" and "." in plain
            plain += text
            tokens.append((True, text))
        elif kind == "other" and text == ",":
            plain += ","
        elif kind is not None:
            if kind == "other" and _NO_NUMBER.match(text):
                return None
            percents += kind == "other" and text == "%"
            tokens.append((False, text))
    whole = plain.partition(".")[0]
    scaled = len(plain) - len(plain.rstrip(","))
    return _Section(
        tokens=tuple(tokens),
        decimals=decimals,
        has_groups="," in whole.rstrip(","),
        shift=2 * percents - 3 * scaled,
        exponent_digits=exponent,
        condition=(condition["sign"], float(condition["limit"])) if condition else None,
    )


def format_number(value: float, code: str) -> str | None:
    """Return a number as a cell with this format shows it; None for one that isn't known here."""
    if abs(value) >= 10**_MOST_DIGITS or value != value:
        return None
    if (fraction := _FRACTION.fullmatch(code.strip())) is not None:
        return _format_fraction(value, fraction["below"])
    if code == "General":
        return None
    if _GENERAL.search(code):
        code = _GENERAL.sub("0" if value == int(value) else "0.##########", code)
    sections = _sections(code)
    at = _section_of(value, sections)
    section = sections[at] if at < len(sections) else None
    if section is None:
        return None
    number = Decimal(format(value, ".15g"))
    sign = "-" if number < 0 and (at == 0 or section.condition) else ""
    digits, power = abs(number), 0
    if section.exponent_digits and digits:
        power = digits.adjusted()
        digits = digits.scaleb(-power)
    rounded = digits.scaleb(section.shift).quantize(Decimal(1).scaleb(-section.decimals), ROUND_HALF_UP)
    whole, _, decimals = f"{rounded:f}".partition(".")
    shown = "".join(_fill(section, whole, decimals))
    if section.exponent_digits:
        shown += f"E{'-' if power < 0 else '+'}{abs(power):0{section.exponent_digits}}"
    return f"{sign}{shown}".strip() if rounded or not sign else shown.strip()


def format_text(text: str, code: str) -> str:
    """Return a text as a cell with this format shows it: `@` stands for it."""
    section = (_SECTION.findall(code)[:-1] or [code])[-1]
    if section == "@" or "@" not in section:
        return text
    shown = ""
    for found in _TOKEN.finditer(section):
        piece = found[found.lastgroup] if found.lastgroup else ""
        shown += text if found.lastgroup == "other" and piece == "@" else piece
    return shown.strip()


def _section_of(value: float, sections: Sequence[_Section | None]) -> int:
    """Return which section a number is shown by: the first whose condition it meets, else by its sign."""
    conditions = [section.condition if section else None for section in sections]
    if any(conditions):
        met = (
            at for at, each in enumerate(conditions) if each is None or _COMPARISONS[each[0]](value, each[1])
        )
        return next(met, len(sections))
    return 1 if value < 0 and len(sections) > 1 else 2 if value == 0 and len(sections) > 2 else 0


def _fill(section: _Section, whole: str, decimals: str) -> list[str]:
    """Return the texts of the section with the digits in its places."""
    marks = [text for is_place, text in section.tokens if is_place]
    point = marks.index(".") if "." in marks else len(marks)
    wanted = marks[:point].count("0")
    digits = whole.lstrip("0").rjust(wanted, "0")
    is_divided = _is_divided(section)
    if section.has_groups and not is_divided:
        digits = _GROUPS.sub(",", digits)
    kept = decimals
    for mark in reversed(marks[point + 1 :]):
        if mark == "0" or not kept.endswith("0"):
            break
        kept = kept[:-1]
    texts: list[str] = []
    left = point
    for is_place, text in section.tokens:
        if not is_place:
            texts.append(text)
        elif text == ".":
            left = 0
            texts.append(f".{kept}" if kept else "")
        elif left:
            left -= 1
            # The first place takes the digits for which the others have no room.
            taken = max(0, len(digits) - left) if is_divided else len(digits)
            texts.append(digits[:taken])
            digits = digits[taken:]
    return texts


def _is_divided(section: _Section) -> bool:
    """Return whether text stands among the places, as in `000-0000`."""
    places = [is_place for is_place, text in section.tokens if not (is_place and text == ".")]
    first = places.index(True) if True in places else 0
    last = len(places) - places[::-1].index(True) if True in places else 0
    return not all(places[first:last])


def _format_fraction(value: float, below: str) -> str:
    exact = Fraction(format(abs(value), ".15g"))
    if below.isdecimal() and below.strip("0"):
        near = Fraction(round(exact * int(below)), int(below))
    else:
        near = exact.limit_denominator(10 ** min(len(below), 5) - 1)
    whole, part = divmod(near.numerator, near.denominator)
    texts = ([str(whole)] if whole or not part else []) + ([f"{part}/{near.denominator}"] if part else [])
    return ("-" if value < 0 else "") + " ".join(texts)


def format_duration(value: datetime.timedelta, code: str) -> str:
    """Return a duration in hours, minutes and, if its format shows them, seconds: `30:00`."""
    seconds = round(value.total_seconds())
    minutes, rest = divmod(abs(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if "h" not in code.lower():
        shown = f"{60 * hours + minutes}:{rest:02}"
    else:
        shown = f"{hours}:{minutes:02}" + (f":{rest:02}" if "s" in code.lower() else "")
    return f"-{shown}" if seconds < 0 else shown


def format_day(day: datetime.date, code: str) -> str:
    """Return a date as a cell with this format shows it, without the time; '' if it names no month."""
    if "mmm" not in code.lower() or (section := _SECTION.match(code)) is None:
        return ""
    shown, names_month = "", False
    for found in _DAY_TOKEN.finditer(section[1]):
        text = found["quoted"] or found["escaped"] or found["other"] or ""
        if field := (found["field"] or "").lower():
            names_month |= field.startswith("mmm")
            if field[0] in "hs" or (field in ("m", "mm") and names_month):
                break  # the time, which stands behind the day
            text = _day_field(day, field)
        shown += text
    return shown.strip(" ,;-/.") if names_month else ""


def _day_field(day: datetime.date, field: str) -> str:
    match field[0], len(field):
        case "y", size:
            return f"{day.year}" if size > 2 else f"{day.year % 100:02}"
        case "d", size if size > 2:
            return _WEEKDAYS[day.weekday()][: 3 if size == 3 else None]
        case "m", size if size > 2:
            return _MONTHS[day.month - 1][: {3: 3, 5: 1}.get(size)]
        case kind, size:
            return f"{day.day if kind == 'd' else day.month:0{size}}"
