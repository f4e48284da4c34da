"""Fields that a metadata filter compares: those of the metadata, and of the document itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from search.retrieval.errors import InvalidFilter, preview
from search.retrieval.query.conditions import (
    METADATA_PREFIX,
    AllOf,
    AnyOf,
    Bound,
    Comparison,
    Condition,
    TextTest,
)
from search.retrieval.query.dates import Period, read_period
from search.retrieval.query.metadata import (
    MAX_NAME_CHARS,
    TIMES,
    Value,
    as_shown,
    fold_value,
    read_number,
    to_comparable,
)
from search.retrieval.query.titles import title_key

_A_DATE: Final = "a date like 2026-01-31, 2026-01 or 31.01.2026, or a time like 2026-01-31T12:00:00Z"


class FilterField(Protocol):
    """A field; values and bounds are as given."""

    def is_one_of(self, values: Sequence[Value]) -> Condition:
        """Return the condition that it has one of the values."""

    def meets(self, test: TextTest, values: Sequence[Value]) -> Condition:
        """Return the condition that a text of it meets the test with one of the values."""

    def exists(self) -> Condition:
        """Return the condition that it has any value."""

    def is_within(self, bounds: Mapping[Bound, Any]) -> Condition:
        """Return the condition that a value of it is within all bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedField:
    """A field of the metadata. Raises: InvalidFilter for a name that none can have."""

    name: str

    def __post_init__(self) -> None:
        check_field_name(self.name)

    def is_one_of(self, values: Sequence[Value]) -> Condition:
        """Return the condition that it has one of the values."""
        return self._compare("one_of", *map(fold_value, values))

    def meets(self, test: TextTest, values: Sequence[Value]) -> Condition:
        """Return the condition that a text of it meets the test with one of the values."""
        return self._compare(test, *map(fold_value, values))

    def exists(self) -> Condition:
        """Return the condition that it has any value."""
        return self._compare("exists")

    def is_within(self, bounds: Mapping[Bound, Any]) -> Condition:
        """Return the condition that one of its numbers, or one of its times, is within all bounds.

        A year is a number, too. Raises InvalidFilter.
        """
        numbers, times = {}, {}
        for key, value in bounds.items():
            if (number := _read_number(value)) is not None:
                numbers[key] = (key, number)
            if (period := _read_period(value)) is not None:
                bound, moment = _bound_of_period(key, period)
                times[key] = (bound, moment.timestamp())
            if key not in numbers and key not in times:
                raise _wrong_bound(self.name, value, f"a number, or {_A_DATE}")
        by_kind = [
            (found.keys(), self._compare("within", *sorted(found.values()), suffix=suffix))
            for suffix, found in (("", numbers), (TIMES, times))
            if found
        ]
        whole = [within for keys, within in by_kind if len(keys) == len(bounds)]
        return AnyOf(tuple(whole)) if whole else AllOf(tuple(within for _, within in by_kind))

    def _compare(self, test: Any, *values: Any, suffix: str = "") -> Comparison:
        return Comparison(field=f"{METADATA_PREFIX}{self.name}{suffix}", test=test, values=values)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextField:
    """A text of the document, such as its path."""

    name: str
    column: str
    #: The form in which it is compared.
    fold: Callable[[Value], str] = fold_value

    def is_one_of(self, values: Sequence[Value]) -> Condition:
        """Return the condition that it is one of the values."""
        return self.meets("equals", values)

    def meets(self, test: TextTest, values: Sequence[Value]) -> Condition:
        """Return the condition that it meets the test with one of the values."""
        folded = tuple(filter(None, map(self.fold, values)))
        return Comparison(field=self.column, test=test, values=folded)

    def exists(self) -> Condition:
        """Return the condition that it is not empty."""
        return Comparison(field=self.column, test="present", values=("",))

    def is_within(self, bounds: Mapping[Bound, Any]) -> Condition:
        """Raise InvalidFilter."""
        raise _wrong_bound(self.name, next(iter(bounds.values())), "a text to be equal to, or a part of it")


@dataclass(frozen=True, slots=True, kw_only=True)
class DateField(TextField):
    """The date of the document; its text is in ISO 8601."""

    def is_one_of(self, values: Sequence[Value]) -> Condition:
        """Return the condition that it is in one of the years, months or days, or is one of the texts."""
        return AnyOf(
            tuple(
                self.meets("equals", [value])
                if _read_period(value) is None
                else self.is_within({"gte": value, "lte": value})
                for value in values
            )
        )

    def is_within(self, bounds: Mapping[Bound, Any]) -> Condition:
        """Return the condition that it is within all bounds. Raises InvalidFilter."""
        return AllOf(tuple(self._bound(key, value) for key, value in bounds.items()))

    def _bound(self, key: Bound, value: Any) -> Condition:
        period = _read_period(value)
        if period is None:
            raise _wrong_bound(self.name, value, _A_DATE)
        bound, moment = _bound_of_period(key, period)
        return Comparison(field="dated_at", test=bound, values=(moment,))


_DOCUMENT: Final[Mapping[str, FilterField]] = {
    "$path": TextField(name="$path", column="path"),
    "$title": TextField(name="$title", column="title", fold=lambda value: title_key(str(value))),
    "$source": TextField(name="$source", column="source"),
    "$author": TextField(name="$author", column="author"),
    "$document_id": TextField(name="$document_id", column="doc_id"),
    "$date": DateField(name="$date", column="date"),
}


def filter_field(name: str) -> FilterField:
    """Return the field with this name. Raises InvalidFilter."""
    return _DOCUMENT.get(name) or StatedField(name=name)


def check_field_name(name: str) -> None:
    """Raise InvalidFilter if no field of metadata that can be filtered by has this name."""
    if not 1 <= len(name) <= MAX_NAME_CHARS or not name.isprintable() or name.startswith("$"):
        raise InvalidFilter(f"There can be no metadata field {preview(name)}; mend its name.")


def _read_number(value: Any) -> float | None:
    if isinstance(value, str):
        return read_number(value)
    found = None if isinstance(value, bool) else to_comparable(value)
    return found if isinstance(found, float) else None


def _read_period(value: Any) -> Period | None:
    is_plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    found = to_comparable(value) if is_plain else None
    return None if found is None else read_period(str(as_shown(found)))


def _bound_of_period(key: Bound, period: Period) -> tuple[Bound, datetime]:
    """Return a bound as a comparison with one moment: after a month is from its end on."""
    first, behind = period
    if first == behind:
        return key, first
    return ("gte" if key in ("gt", "gte") else "lt"), (behind if key in ("gt", "lte") else first)


def _wrong_bound(name: str, value: Any, wanted: str) -> InvalidFilter:
    return InvalidFilter(f"The field {preview(name)} is compared with {preview(value)}; give {wanted}.")
