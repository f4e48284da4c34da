"""Filters on the metadata of documents: equality, alternatives, presence, ranges of numbers and dates.

Metadata is flattened for them: nested names are joined by dots, each element of a list is a value of its own.
"""

import json
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Any, Final

from search.retrieval.errors import InvalidFilter, preview
from search.retrieval.text.sanitize import is_storable

#: Limits on the metadata of one document that can be filtered by; what is beyond them is left out.
MAX_FIELDS: Final = 100
MAX_VALUES: Final = 50
MAX_NAME_CHARS: Final = 100
#: Longer values are compared by their beginning.
MAX_VALUE_CHARS: Final = 200
#: Maximum number of fields in one filter, and of alternatives.
MAX_CONDITIONS: Final = 20
#: Maximum number of conditions on fields in a filter with all the filters that are nested in it.
MAX_CONDITIONS_IN_ALL: Final = 100
#: In the place of a field's name: one of several filters must hold, or all of them.
ANY: Final = "$or"
ALL: Final = "$and"
_MAX_NESTED: Final = 4
_MAX_DEPTH: Final = 5
#: Follows the name of a field with dates: its values are their times, in seconds since 1970.
TIMES: Final = "\x1f"
# From here on a float may stand for several whole numbers.
_INEXACT: Final = 2**53
_BOUNDS: Final[Mapping[str, tuple[str, Callable[[Any, Any], bool]]]] = {
    "gt": (">", operator.gt),
    "gte": (">=", operator.ge),
    "lt": ("<", operator.lt),
    "lte": ("<=", operator.le),
}
_SHAPE: Final = (
    'give a value, a list of alternatives, or an object such as {"gte": 2020, "lt": 2024},'
    ' {"not": "draft"}, {"exists": true}'
)

#: A value as it is compared: booleans are the texts true and false.
Value = str | float


def filter_values(metadata: Mapping[str, Any]) -> dict[str, list[Value]]:
    """Return the values of a document's metadata by the name of the field, as filters compare them.

    A field with dates has their times beside them, under a name of its own.
    """
    found: dict[str, list[Value]] = {}
    for name, value in _flatten(metadata, "", 0):
        if name not in found and len(found) >= MAX_FIELDS:
            continue
        values = found.setdefault(name, [])
        if value not in values and len(values) < MAX_VALUES:
            values.append(value)
    times: dict[str, list[Value]] = {
        name + TIMES: [time for value in values if (time := _read_time(value)) is not None]
        for name, values in found.items()
    }
    return found | {name: values for name, values in times.items() if values}


def _flatten(value: Any, name: str, depth: int) -> Iterator[tuple[str, Value]]:
    if isinstance(value, Mapping):
        if depth < _MAX_DEPTH:
            for key, each in value.items():
                yield from _flatten(each, f"{name}.{key}" if name else str(key), depth + 1)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _flatten(each, name, depth + 1)
    elif value is not None and name and len(name) <= MAX_NAME_CHARS and name.isprintable():
        comparable = _to_comparable(value)
        if comparable is not None:
            yield name, comparable


def _to_comparable(value: Any) -> Value | None:
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
    """Return the time of an ISO 8601 date or time; one without a time zone is in UTC."""
    if not isinstance(value, str) or len(value) < len("2026-01-31"):
        return None
    try:
        if len(value) == len("2026-01-31"):
            moment = datetime.combine(date.fromisoformat(value), datetime.min.time(), UTC)
        else:
            moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def check_field_name(name: str) -> None:
    """Raise InvalidFilter if no field of metadata that can be filtered by has this name."""
    if not 1 <= len(name) <= MAX_NAME_CHARS or not name.isprintable() or name.startswith("$"):
        raise InvalidFilter(f"There can be no metadata field {preview(name)}; mend its name.")


@dataclass(frozen=True)
class MetadataCondition:
    """A condition on one field. Raises: InvalidFilter, naming the field and the value."""

    name: str
    #: As given: a value, a list of values, or an object with bounds, `not` or `exists`.
    wanted: Any
    #: The number of groups that it stands in.
    nested: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        if not self.is_group:
            check_field_name(self.name)
        _ = self.alternatives, self.tests

    @property
    def is_group(self) -> bool:
        """Return whether it joins several filters."""
        return self.name in (ANY, ALL)

    @cached_property
    def alternatives(self) -> "tuple[tuple[MetadataCondition, ...], ...]":
        """The conditions of which all of one alternative must hold; none for a condition on a field."""
        if not self.is_group:
            return ()
        wanted = self.wanted
        if not isinstance(wanted, list | tuple) or not 1 <= len(wanted) <= MAX_CONDITIONS:
            given = f"{self.name} has {preview(wanted)}"
            raise InvalidFilter(f"{given}; give a list of 1 to {MAX_CONDITIONS} filters on metadata.")
        found = tuple(parse_metadata_filter(each, nested=self.nested + 1) for each in wanted)
        if not all(found):
            raise InvalidFilter(f"{self.name} has {preview(wanted)}; each of its filters needs a field.")
        return found if self.name == ANY else (tuple(each for one in found for each in one),)

    @property
    def json_path(self) -> str:
        """Return the condition as an SQL/JSON path predicate on `filter_values`."""
        if self.alternatives:
            return f"({' || '.join(f'({metadata_json_path(each)})' for each in self.alternatives)})"
        return " && ".join(test.json_path for test in self.tests)

    def passes(self, values: Mapping[str, Any]) -> bool:
        """Return whether a document with these `filter_values` meets it."""
        if self.alternatives:
            return any(all(each.passes(values) for each in one) for one in self.alternatives)
        return all(test.passes(values) for test in self.tests)

    @cached_property
    def tests(self) -> "tuple[MetadataTest, ...]":
        """The tests that the field's values must all pass."""
        wanted = self.wanted
        if self.is_group:
            return ()
        if not isinstance(wanted, Mapping):
            return (MetadataTest(self.name, any_of=self._values(wanted)),)
        tests = []
        bounds: dict[bool, dict[str, float]] = {}
        for key, value in wanted.items():
            if key in _BOUNDS:
                is_time, bound = self._bound(value)
                bounds.setdefault(is_time, {})[key] = bound
            elif key == "in":
                tests.append(MetadataTest(self.name, any_of=self._values(value)))
            elif key == "not":
                tests.append(MetadataTest(self.name, any_of=self._values(value), is_negated=True))
            elif key == "exists" and isinstance(value, bool):
                tests.append(MetadataTest(self.name, is_negated=not value))
            else:
                raise self._refusal({key: value})
        if not wanted:
            raise self._refusal(wanted)
        tests += [
            MetadataTest(self.name + TIMES if is_time else self.name, bounds=tuple(sorted(each.items())))
            for is_time, each in bounds.items()
        ]
        return tuple(tests)

    def _values(self, given: Any) -> tuple[Value, ...]:
        values = given if isinstance(given, list | tuple) else [given]
        comparable = tuple(
            _to_comparable(value) if isinstance(value, str | int | float) else None for value in values
        )
        if not comparable or len(comparable) > MAX_VALUES or None in comparable:
            raise self._refusal(given)
        return comparable  # type: ignore[return-value]  # without None

    def _bound(self, value: Any) -> tuple[bool, float]:
        """Return whether a bound is a time, and its number."""
        if isinstance(value, str) and (time := _read_time(value)) is not None:
            return True, time
        number = _to_comparable(value) if not isinstance(value, bool) else None
        if isinstance(number, float):
            return False, number
        raise InvalidFilter(
            f"The metadata field {preview(self.name)} is compared with {preview(value)}; give a number, or a"
            " date like 2026-01-31 or 2026-01-31T12:00:00Z."
        )

    def _refusal(self, value: Any) -> InvalidFilter:
        return InvalidFilter(f"The metadata field {preview(self.name)} has {preview(value)}; {_SHAPE}.")


@dataclass(frozen=True, slots=True)
class MetadataTest:
    """A test of the values of one field: one is in `any_of`, or within `bounds`; else there is any."""

    name: str
    any_of: tuple[Value, ...] = ()
    #: (gt, gte, lt or lte; number).
    bounds: tuple[tuple[str, float], ...] = ()
    #: Whether the document must fail the test.
    is_negated: bool = False

    def passes(self, values: Mapping[str, Any]) -> bool:
        """Return whether a document with these `filter_values` passes."""
        return any(map(self._fits, values.get(self.name, ()))) is not self.is_negated

    def _fits(self, value: Value) -> bool:
        if self.any_of:
            return value in self.any_of
        if isinstance(value, str):
            return not self.bounds
        return all(_BOUNDS[key][1](value, number) for key, number in self.bounds)

    @property
    def json_path(self) -> str:
        """Return the test as an SQL/JSON path predicate on `filter_values`."""
        field = f"$.{_quote(self.name)}"
        if self.any_of:
            condition = " || ".join(f"@ == {_quote(value)}" for value in self.any_of)
        else:
            condition = " && ".join(f"@ {_BOUNDS[key][0]} {_quote(number)}" for key, number in self.bounds)
        test = f"exists({field}[*] ? ({condition}))" if condition else f"exists({field})"
        return f"!{test}" if self.is_negated else test

    def as_sql(self) -> tuple[str, tuple[Value, ...]]:
        """Return the condition on a row `v` of a mirror's values that fits, with its parameters."""
        if self.any_of:
            marks = ", ".join("?" * len(self.any_of))
            return f"v.name = ? AND v.value IN ({marks})", (self.name, *self.any_of)
        # Texts are greater than any number.
        bounds = "".join(f" AND v.value {_BOUNDS[key][0]} ?" for key, _ in self.bounds)
        texts = " AND v.value < ''" if self.bounds else ""
        return f"v.name = ?{bounds}{texts}", (self.name, *(number for _, number in self.bounds))


def _quote(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False)


def parse_metadata_filter(given: object, *, nested: int = 0) -> tuple[MetadataCondition, ...]:
    """Return the conditions of a filter on metadata, an object with the condition of each field.

    Raises InvalidFilter.
    """
    if not isinstance(given, Mapping):
        example = '{"team": "ops"}'
        raise InvalidFilter(f"The filter metadata is {preview(given)}; give an object like {example}.")
    if len(given) > MAX_CONDITIONS:
        raise InvalidFilter(f"The filter metadata has {len(given)} fields; give {MAX_CONDITIONS} at most.")
    if nested > _MAX_NESTED:
        raise InvalidFilter(
            f"The filter metadata is nested deeper than {_MAX_NESTED} times; make it simpler."
        )
    if not nested and _exceeds(MAX_CONDITIONS_IN_ALL, given):
        raise InvalidFilter(
            f"The filter metadata has more than {MAX_CONDITIONS_IN_ALL} conditions in all; make it simpler."
        )
    return tuple(MetadataCondition(str(name), wanted, nested) for name, wanted in sorted(given.items()))


def _exceeds(limit: int, given: Mapping[str, Any]) -> bool:
    """Return whether a filter has more than `limit` conditions on fields, with those nested in it."""
    count = 0
    waiting: list[Any] = [given]
    while waiting and count <= limit:
        found = waiting.pop()
        if isinstance(found, Mapping):
            for name, wanted in found.items():
                if name in (ANY, ALL) and isinstance(wanted, list | tuple):
                    waiting += wanted
                else:
                    count += 1
    return count > limit


def metadata_json_path(conditions: tuple[MetadataCondition, ...]) -> str:
    """Return the conditions as one SQL/JSON path predicate on `filter_values`."""
    return " && ".join(condition.json_path for condition in conditions)


def as_shown(value: Value) -> Value:
    """Return a value as it was given: a whole number without a fraction, unless it is rounded."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _INEXACT
    return int(value) if is_whole else value
