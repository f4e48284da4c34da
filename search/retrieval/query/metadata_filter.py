"""Filters on the metadata of documents: equality, alternatives, parts of texts, presence and ranges."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from search.retrieval.errors import InvalidFilter, preview
from search.retrieval.query.conditions import BOUNDS, AllOf, AnyOf, Condition, Not, TextTest
from search.retrieval.query.filter_fields import FilterField, filter_field
from search.retrieval.query.metadata import MAX_VALUES, Value, to_comparable

#: Maximum number of fields in one filter, and of alternatives.
MAX_CONDITIONS: Final = 20
#: Maximum number of conditions on fields in a filter with all the filters that are nested in it.
MAX_CONDITIONS_IN_ALL: Final = 100
#: In the place of a field's name: one of several filters must hold, or all of them.
ANY: Final = "$or"
ALL: Final = "$and"
_MAX_NESTED: Final = 4
_TEXT_TESTS: Final[Mapping[str, TextTest]] = {
    "starts_with": "starts",
    "ends_with": "ends",
    "contains": "contains",
}
_SHAPE: Final = (
    'give a value, a list of alternatives, or an object such as {"gte": 2020, "lt": 2024},'
    ' {"not": "draft"}, {"contains": "ops"}, {"exists": true}'
)


@dataclass(frozen=True)
class MetadataCondition:
    """A condition on one field. Raises: InvalidFilter, naming the field and the value."""

    name: str
    #: As given: a value, a list of values, or an object with bounds, tests, `not` or `exists`.
    wanted: Any
    #: The number of groups that it stands in.
    nested: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
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
        return self._join_filters() if self._is_group else self._read(filter_field(self.name), self.wanted)

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

    def _read(self, compared: FilterField, wanted: Any) -> Condition:
        """Return the condition on a field that a value, values or an object state."""
        if not isinstance(wanted, Mapping):
            return compared.is_one_of(self._values(wanted))
        if not wanted:
            raise self._refusal(wanted)
        parts = [self._read_entry(compared, *each) for each in wanted.items() if each[0] not in BOUNDS]
        bounds: Any = {key: value for key, value in wanted.items() if key in BOUNDS}
        if bounds:
            parts.append(compared.is_within(bounds))
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _read_entry(self, compared: FilterField, key: str, value: Any) -> Condition:
        """Return the condition of an entry that is not a bound."""
        if key == "in":
            return compared.is_one_of(self._values(value))
        if key == "not" and not (isinstance(value, Mapping) and "not" in value):
            return Not(self._read(compared, value))
        if key in _TEXT_TESTS:
            values = self._values(value)
            if "" not in values:
                return compared.meets(_TEXT_TESTS[key], values)
        if key == "exists" and isinstance(value, bool):
            present = compared.exists()
            return present if value else Not(present)
        raise self._refusal({key: value})

    def _values(self, given: Any) -> tuple[Value, ...]:
        values = given if isinstance(given, list | tuple) else [given]
        comparable = tuple(
            to_comparable(value) if isinstance(value, str | int | float) else None for value in values
        )
        if not comparable or len(comparable) > MAX_VALUES or None in comparable:
            raise self._refusal(given)
        return comparable  # type: ignore[return-value]  # without None

    def _refusal(self, value: Any) -> InvalidFilter:
        return InvalidFilter(f"The metadata field {preview(self.name)} has {preview(value)}; {_SHAPE}.")


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
