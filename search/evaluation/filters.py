"""Parsing of a topic's filters from JSON, as in a search request."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from search.retrieval.errors import InvalidFilter, preview
from search.retrieval.query.filters import SearchFilters

_NAMES = tuple(each.name for each in fields(SearchFilters))
_ONE_VALUE = ("trust_min", "ingested_after")


def parse_filters(given: Mapping[str, Any]) -> SearchFilters:
    """Parse the filters of a search from JSON. Raises InvalidFilter, naming filter and value."""
    if not isinstance(given, Mapping):
        raise InvalidFilter(f"The filters are {preview(given)}; give names with their values.")
    return SearchFilters(**{_check_name(name): _parse_value(name, value) for name, value in given.items()})


def _check_name(name: object) -> str:
    if name not in _NAMES:
        raise InvalidFilter(f"There is no filter {preview(name)}; there are: {', '.join(_NAMES)}.")
    return str(name)


def _parse_value(name: str, value: Any) -> Any:
    if value is None:
        return None if name in _ONE_VALUE else ()
    if name == "ingested_after":
        return _parse_time(value)
    listed = [value] if isinstance(value, str) else value
    if name in _ONE_VALUE:
        return _check_text(name, value)
    if not isinstance(listed, list | tuple):
        raise InvalidFilter(f"The filter {name} is {preview(value)}; give a text or a list of texts.")
    return tuple(_check_text(name, each) for each in listed)


def _check_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidFilter(f"The filter {name} has {preview(value)}; give a text.")
    return value


def _parse_time(value: Any) -> datetime:
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise InvalidFilter(
            f"ingested_after {preview(value)} is no time; write it like 2026-01-31T12:00:00Z."
        ) from error
