"""Filters on the metadata of documents: equality, alternatives, presence, ranges of numbers and dates.

Metadata is flattened for them: nested names are joined by dots, each element of a list is a value of its own.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Any, Final

from search.retrieval.errors import InvalidFilter, preview
from search.retrieval.query.conditions import (
    METADATA_PREFIX,
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Not,
    Test,
    fold_case,
)
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
#: Follows the name of a field with capitals: its values are the texts that have some, folded.
FOLDED: Final = "\x1e"
# From here on a float may stand for several whole numbers.
_INEXACT: Final = 2**53
#: The sign of each bound.
BOUNDS: Final = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_SHAPE: Final = (
    'give a value, a list of alternatives, or an object such as {"gte": 2020, "lt": 2024},'
    ' {"not": "draft"}, {"exists": true}'
)

#: A value as it is compared: booleans are the texts true and false.
Value = str | float


def filter_values(metadata: Mapping[str, Any]) -> dict[str, list[Value]]:
    """Return the values of a document's metadata by the name of the field, as filters compare them.

    A field with dates has their times beside them, one with capitals its texts without, under names of their
    own.
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
        times = [time for value in values if (time := _read_time(value)) is not None]
        folded = [low for value in values if (low := fold_value(value)) != value]
        derived |= {name + TIMES: list(dict.fromkeys(times)), name + FOLDED: list(dict.fromkeys(folded))}
    return found | {name: values for name, values in derived.items() if values}


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
        if not self._is_group:
            check_field_name(self.name)
        _ = self.condition

    @property
    def _is_group(self) -> bool:
        """Return whether it joins several filters."""
        return self.name in (ANY, ALL)

    @property
    def chosen(self) -> tuple[Value, ...]:
        """Return the values that it asks for, as given."""
        wanted = self.wanted
        if isinstance(wanted, Mapping):
            return self._values(wanted["in"]) if "in" in wanted else ()
        return () if self._is_group else self._values(wanted)

    @cached_property
    def condition(self) -> Condition:
        """The condition on the field's values, or on those of all fields in the group."""
        if self._is_group:
            return self._join_filters()
        if not isinstance(self.wanted, Mapping):
            return self._one_of(self.wanted)
        if not self.wanted:
            raise self._refusal(self.wanted)
        bounds: dict[str, dict[str, float]] = {}
        parts: list[Condition] = [
            self._read(key, value) for key, value in self.wanted.items() if key not in BOUNDS
        ]
        for key, value in self.wanted.items():
            if key in BOUNDS:
                is_time, bound = self._bound(value)
                bounds.setdefault(TIMES if is_time else "", {})[key] = bound
        parts += [
            self._compare("within", *sorted(each.items()), suffix=suffix) for suffix, each in bounds.items()
        ]
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _join_filters(self) -> Condition:
        wanted = self.wanted
        if not isinstance(wanted, list | tuple) or not 1 <= len(wanted) <= MAX_CONDITIONS:
            given = f"{self.name} has {preview(wanted)}"
            raise InvalidFilter(f"{given}; give a list of 1 to {MAX_CONDITIONS} filters on metadata.")
        found = tuple(parse_metadata_filter(each, nested=self.nested + 1) for each in wanted)
        if not all(found):
            raise InvalidFilter(f"{self.name} has {preview(wanted)}; each of its filters needs a field.")
        parts = tuple(AllOf(tuple(each.condition for each in one)) for one in found)
        return AnyOf(parts) if self.name == ANY else AllOf(parts)

    def _read(self, key: str, value: Any) -> Condition:
        """Return the condition of an entry that is no bound."""
        if key == "in":
            return self._one_of(value)
        if key == "not":
            return Not(self._one_of(value))
        if key == "exists" and isinstance(value, bool):
            present = self._compare("exists")
            return present if value else Not(present)
        raise self._refusal({key: value})

    def _one_of(self, given: Any) -> Comparison:
        return self._compare("one_of", *map(fold_value, self._values(given)))

    def _compare(self, test: Test, *values: Any, suffix: str = "") -> Comparison:
        return Comparison(field=f"{METADATA_PREFIX}{self.name}{suffix}", test=test, values=values)

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


def fold_value(value: Value) -> Value:
    """Return a value without regard to the case of its text."""
    return fold_case(value) if isinstance(value, str) else value


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


def as_shown(value: Value) -> Value:
    """Return a value as it was given: a whole number without a fraction, unless it is rounded."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _INEXACT
    return int(value) if is_whole else value
