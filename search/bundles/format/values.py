"""Kinds of the fields of a bundle's rows: conversion of values to JSON, and validation on the way back.

Everything in a bundle is validated before use: a row has exactly the fields of its section, each of its kind,
and only values that Postgres can store.
"""

import json
import math
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from search.retrieval.errors import preview
from search.retrieval.text.sanitize import is_storable

#: Limit of texts without a limit of their own.
MAX_TEXT_CHARS = 20_000_000
_INT64_LIMIT = 2**63
#: Limit of counters that continue after an import.
MAX_COUNT = 2**53
_HEX32 = re.compile(r"[0-9a-f]{32}")
_HEX64 = re.compile(r"[0-9a-f]{64}")
# Deeper than any stored value, and far below the recursion limit of Python's parser.
_MAX_DEPTH = 400


class Kind(Protocol):
    """A kind of field."""

    def to_json(self, value: Any) -> Any:
        """Convert a row's value to JSON."""
        ...

    def from_json(self, value: Any) -> Any:
        """Validate a JSON value and convert it to a row's value. Raises ValueError with the problem."""
        ...


Fields = Mapping[str, Kind]


def row_to_json(fields: Fields, row: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a row to JSON."""
    return {name: kind.to_json(row[name]) for name, kind in fields.items()}


def row_from_json(fields: Fields, row: Any) -> dict[str, Any]:
    """Validate a row's JSON and convert it. Raises ValueError, naming the wrong field."""
    if not isinstance(row, dict) or row.keys() != fields.keys():
        raise ValueError("has not the fields that belong to it")
    found: dict[str, Any] = {}
    for name, kind in fields.items():
        try:
            found[name] = kind.from_json(row[name])
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    return found


def canonical_json(value: Any) -> bytes:
    """Return `value` as canonical JSON."""
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    ).encode()


def read_json(body: bytes) -> Any:
    """Parse JSON. Raises ValueError for constants and nesting that no export writes."""
    try:
        return json.loads(body, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """Base of kinds whose JSON is the value itself; None is allowed only if it may be absent."""

    may_be_absent: bool = False

    def to_json(self, value: Any) -> Any:
        return value

    def from_json(self, value: Any) -> Any:
        if value is None and self.may_be_absent:
            return None
        return self._check(value)

    def _check(self, value: Any) -> Any:
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(_Field):
    """A text of `most` characters at most."""

    most: int = MAX_TEXT_CHARS

    def _check(self, value: Any) -> str:
        if not isinstance(value, str) or not is_storable(value):
            raise ValueError(f"{preview(value)} is no text that can be stored")
        if len(value) > self.most:
            raise ValueError(f"{len(value)} characters; at most {self.most} fit")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchingText(_Field):
    """A text that matches a pattern."""

    pattern: re.Pattern[str]

    def _check(self, value: Any) -> str:
        if not isinstance(value, str) or self.pattern.fullmatch(value) is None:
            raise ValueError(f"{preview(value)} does not fit {self.pattern.pattern}")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf(_Field):
    """One of some texts."""

    choices: tuple[str, ...]

    def _check(self, value: Any) -> str:
        if value not in self.choices:
            raise ValueError(f"{preview(value)} is not one of {', '.join(self.choices)}")
        return str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Integer(_Field):
    """A whole number from `least` to `most`, both included."""

    least: int = 0
    most: int = _INT64_LIMIT - 1

    def _check(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not self.least <= value <= self.most:
            raise ValueError(f"{preview(value)} is no whole number from {self.least} to {self.most}")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(_Field):
    """A finite number."""

    def _check(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{preview(value)} is no number")
        try:
            number = float(value)
        except OverflowError as error:
            raise ValueError(f"{preview(value)} is too large a number") from error
        if not math.isfinite(number):
            raise ValueError(f"{preview(value)} is no finite number")
        return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Boolean(_Field):
    """True or false."""

    def _check(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError(f"{preview(value)} is neither true nor false")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Id(_Field):
    """A UUID, as 32 hex digits."""

    def to_json(self, value: uuid.UUID | None) -> str | None:
        return None if value is None else value.hex

    def _check(self, value: Any) -> uuid.UUID:
        if not isinstance(value, str) or _HEX32.fullmatch(value) is None:
            raise ValueError(f"{preview(value)} is no id of 32 hex digits")
        return uuid.UUID(hex=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timestamp(_Field):
    """A time with its zone, by ISO 8601, to the microsecond."""

    def to_json(self, value: datetime | None) -> str | None:
        return None if value is None else value.astimezone(UTC).isoformat()

    def _check(self, value: Any) -> datetime:
        try:
            moment = datetime.fromisoformat(value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{preview(value)} is no time") from error
        # Years that are valid in every time zone.
        if moment.tzinfo is None or not 2 <= moment.year <= 9_998:
            raise ValueError(f"{preview(value)} is no time with a zone")
        return moment.astimezone(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts(_Field):
    """A list of texts of `most` characters each at most."""

    most: int = MAX_TEXT_CHARS

    def to_json(self, value: Any) -> list[str]:
        return list(value)

    def _check(self, value: Any) -> list[str]:
        if not isinstance(value, list):
            raise ValueError(f"{preview(value)} is no list")
        each = Text(most=self.most)
        return [each.from_json(text) for text in value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Json(_Field):
    """Any JSON of one type."""

    type_: type[dict[str, Any]] | type[list[Any]]

    def _check(self, value: Any) -> Any:
        if not isinstance(value, self.type_):
            raise ValueError(f"{preview(value)} is no {self.type_.__name__}")
        _check_depth(value, _MAX_DEPTH)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans(_Field):
    """A chunk's source spans: objects with a kind, and with first and last line if the kind is `line`."""

    def _check(self, value: Any) -> list[dict[str, Any]]:
        if not isinstance(value, list):
            raise ValueError(f"{preview(value)} is no list")
        for span in value:
            _check_span(span)
        _check_depth(value, _MAX_DEPTH)
        return value


def _check_span(span: Any) -> None:
    if not isinstance(span, dict) or not isinstance(span.get("kind"), str):
        raise ValueError(f"{preview(span)} is no span")
    if span["kind"] == "line":
        start = Integer(least=1).from_json(span.get("start"))
        Integer(least=start).from_json(span.get("end"))


def _check_depth(value: Any, max_depth: int) -> None:
    if isinstance(value, str):
        if not is_storable(value):
            raise ValueError(f"{preview(value)} can't be stored")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("holds a number that is not finite")
    elif isinstance(value, dict | list):
        if not max_depth:
            raise ValueError("is nested too deeply")
        for key in value if isinstance(value, dict) else ():
            _check_depth(key, max_depth - 1)
        for each in value.values() if isinstance(value, dict) else value:
            _check_depth(each, max_depth - 1)


def hash_text() -> MatchingText:
    """Return the kind of a BLAKE3 hash of 64 hex digits."""
    return MatchingText(pattern=_HEX64)


def row_number(*, may_be_absent: bool = False) -> Integer:
    """Return the kind of a reference to a row's number, from 1, in another section."""
    return Integer(least=1, may_be_absent=may_be_absent)
