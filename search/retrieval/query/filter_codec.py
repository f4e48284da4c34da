"""The JSON form of search filters: each filter's name with its value, or its list of values.

`metadata` has an object with a condition for each field.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from search.retrieval.errors import InvalidFilter, preview
from search.retrieval.query.filters import MOMENTS, NAMES, SearchFilters
from search.retrieval.query.metadata_filter import parse_metadata_filter

#: Filters with a single value.
SINGLE: Final = frozenset({"trust_min", *MOMENTS})


def filters_to_json(filters: SearchFilters) -> dict[str, Any]:
    """Return the filters in use; equal filters have equal JSON."""
    values = {name: getattr(filters, name) for name in filters.shape()}
    values |= {name: values[name].isoformat() for name in MOMENTS if name in values}
    if filters.metadata:
        values["metadata"] = {condition.name: condition.wanted for condition in filters.metadata}
    return values


def filters_from_json(given: object) -> SearchFilters:
    """Parse filters; null counts as absent, and a single text as a list of one.

    Raises InvalidFilter, naming filter and value.
    """
    if not isinstance(given, Mapping):
        raise InvalidFilter(f"The filters are {preview(given)}; give names with their values.")
    unknown = [name for name in given if name not in NAMES]
    if unknown:
        raise InvalidFilter(f"There is no filter {preview(unknown[0])}; there are: {', '.join(NAMES)}.")
    values: dict[str, Any] = {
        name: _parse_value(name, value) for name, value in given.items() if value is not None
    }
    return SearchFilters(**values)


def parse_moment(name: str, value: object) -> datetime:
    """Parse an ISO 8601 time as written, of the filter `name`. Raises InvalidFilter."""
    try:
        if isinstance(value, str):
            return datetime.fromisoformat(value)
    except ValueError:
        pass
    raise InvalidFilter(f"{name} {preview(value)} is not a time; write it like 2026-01-31T12:00:00Z.")


def _parse_value(name: str, value: object) -> object:
    if name in MOMENTS:
        return parse_moment(name, value)
    if name == "metadata":
        return parse_metadata_filter(value)
    if isinstance(value, str) or name in SINGLE:
        return _check_text(name, value)
    if not isinstance(value, list | tuple):
        raise InvalidFilter(f"The filter {name} is {preview(value)}; give a text or a list of texts.")
    return tuple(_check_text(name, each) for each in value)


def _check_text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidFilter(f"The filter {name} has {preview(value)}; give a text.")
    return value
