"""A topic's filters: JSON as in a search request, and what a search takes."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from search.retrieval.errors import InvalidFilter, shown
from search.retrieval.query.filters import SearchFilters

_NAMES = tuple(each.name for each in fields(SearchFilters))
_ONE_VALUE = ("trust_min", "ingested_after")


def filters_of(given: Mapping[str, Any]) -> SearchFilters:
    """Return the filters of a search from their JSON. Raises InvalidFilter, naming filter and value."""
    if not isinstance(given, Mapping):
        raise InvalidFilter(f"The filters are {shown(given)}; give names with their values.")
    return SearchFilters(**{_known(name): _value(name, value) for name, value in given.items()})


def _known(name: object) -> str:
    if name not in _NAMES:
        raise InvalidFilter(f"There is no filter {shown(name)}; there are: {', '.join(_NAMES)}.")
    return str(name)


def _value(name: str, value: Any) -> Any:
    if value is None:
        return None if name in _ONE_VALUE else ()
    if name == "ingested_after":
        return _moment(value)
    listed = [value] if isinstance(value, str) else value
    if name in _ONE_VALUE:
        return _text(name, value)
    if not isinstance(listed, list | tuple):
        raise InvalidFilter(f"The filter {name} is {shown(value)}; give a text or a list of texts.")
    return tuple(_text(name, each) for each in listed)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidFilter(f"The filter {name} has {shown(value)}; give a text.")
    return value


def _moment(value: Any) -> datetime:
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise InvalidFilter(
            f"ingested_after {shown(value)} is no time; write it like 2026-01-31T12:00:00Z."
        ) from error
