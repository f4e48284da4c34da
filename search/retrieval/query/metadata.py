"""Values of the metadata of documents, as filters compare them.

Metadata is flattened for them: nested names are joined by dots, each element of a list is a value of its own.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from search.retrieval.query.conditions import fold_case
from search.retrieval.query.dates import iso_form, read_period
from search.retrieval.text.sanitize import is_storable

#: Limits on the metadata of one document that can be filtered by; what is beyond them is left out.
MAX_FIELDS: Final = 100
MAX_VALUES: Final = 50
MAX_NAME_CHARS: Final = 100
#: Longer values are compared by their beginning.
MAX_VALUE_CHARS: Final = 200
_MAX_DEPTH: Final = 5
#: Follows the name of a field with dates: its values are the first moments of these, in seconds since 1970.
TIMES: Final = "\x1f"
#: Follows the name of a field with values that `fold_value` changes: its values are those texts.
FOLDED: Final = "\x1e"
#: Follows the name of a field with texts of numbers: its values are the numbers.
NUMBERS: Final = "\x1d"
# From here on a float may stand for several whole numbers.
_INEXACT: Final = 2**53
_NUMBER: Final = re.compile(r"[+-]?\d{1,300}(?:\.\d{1,300})?", re.ASCII)

#: A value as it is compared: booleans are the texts true and false.
Value = str | float


def filter_values(metadata: Mapping[str, Any]) -> dict[str, list[Value]]:
    """Return the values of a document's metadata by the name of the field, as filters compare them.

    Their times, folded texts and numbers are beside them, under names of their own.
    """
    found: dict[str, list[Value]] = {}
    for name, value in _flatten(metadata, "", 0):
        if name not in found and len(found) >= MAX_FIELDS:
            continue
        values = found.setdefault(name, [])
        if value not in values and len(values) < MAX_VALUES:
            values.append(value)
    derived: dict[str, list[Value]] = {}
    for name, values in found.items():
        texts = [value for value in values if isinstance(value, str)]
        derived[name + TIMES] = _drop_missing(map(_read_time, values))
        derived[name + FOLDED] = _drop_missing(low for value in values if (low := fold_value(value)) != value)
        derived[name + NUMBERS] = _drop_missing(map(read_number, texts))
    return found | {name: values for name, values in derived.items() if values}


def _drop_missing(values: Iterable[Value | None]) -> list[Value]:
    """Return each value once, without None."""
    return [value for value in dict.fromkeys(values) if value is not None]


def _flatten(value: Any, name: str, depth: int) -> Iterator[tuple[str, Value]]:
    if isinstance(value, Mapping):
        if depth < _MAX_DEPTH:
            for key, each in value.items():
                yield from _flatten(each, f"{name}.{key}" if name else str(key), depth + 1)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _flatten(each, name, depth + 1)
    elif value not in (None, "") and name and len(name) <= MAX_NAME_CHARS and name.isprintable():
        comparable = to_comparable(value)
        if comparable is not None:
            yield name, comparable


def to_comparable(value: Any) -> Value | None:
    """Return a value as it is compared; None for one that can't be."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None
    text = str(value)[:MAX_VALUE_CHARS]
    return text if is_storable(text) else None


def _read_time(value: Value) -> float | None:
    period = read_period(str(as_shown(value)))
    return None if period is None else period[0].timestamp()


def read_number(text: str) -> float | None:
    """Return the number that a text is, as in `2024` and `-0.5`; None for another text."""
    number = float(text) if _NUMBER.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None


def fold_value(value: Value) -> str:
    """Return a value as text without regard to its case; numbers and dates in one notation."""
    return (iso_form(value) or fold_case(value)) if isinstance(value, str) else str(as_shown(value))


def as_shown(value: Value) -> Value:
    """Return a value as it was given: a whole number without a fraction, unless it is rounded."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _INEXACT
    return int(value) if is_whole else value
