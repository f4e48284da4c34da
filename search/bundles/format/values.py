"""What the fields of a bundle's rows may be: how a value is written as JSON, and what is taken back.

Whatever a bundle claims is checked before anything uses it: a row holds just the fields of its section, each
of its kind, and nothing that Postgres would not take.
"""

import json
import math
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from search.retrieval.errors import shown
from search.retrieval.text.cleaning import is_storable

#: Of texts that have no limit of their own.
MAX_TEXT_CHARS = 20_000_000
_LONG = 2**63
#: Of numbers that are counted on from.
MAX_COUNT = 2**53
_HEX32 = re.compile(r"[0-9a-f]{32}")
_HEX64 = re.compile(r"[0-9a-f]{64}")
# Deeper than anything that is stored; far from where Python's reader gives up.
_MAX_DEPTH = 400


class Kind(Protocol):
    """A kind of value."""

    def said(self, value: Any) -> Any:
        """Return a value of a row as JSON says it."""
        ...

    def taken(self, value: Any) -> Any:
        """Return what JSON said as a row holds it. Raises ValueError with what is wrong."""
        ...


Fields = Mapping[str, Kind]


def said(fields: Fields, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as JSON says it."""
    return {name: kind.said(row[name]) for name, kind in fields.items()}


def taken(fields: Fields, row: Any) -> dict[str, Any]:
    """Return a row that JSON said. Raises ValueError, naming the field that is wrong."""
    if not isinstance(row, dict) or row.keys() != fields.keys():
        raise ValueError("has not the fields that belong to it")
    found: dict[str, Any] = {}
    for name, kind in fields.items():
        try:
            found[name] = kind.taken(row[name])
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    return found


def packed_json(value: Any) -> bytes:
    """Return `value` as JSON in its one canonical form."""
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    ).encode()


def read_json(body: bytes) -> Any:
    """Return what JSON says. Raises ValueError for anything that no export writes."""
    try:
        return json.loads(body, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plain:
    """A value that JSON says as it is; None only where it may be absent."""

    may_be_absent: bool = False

    def said(self, value: Any) -> Any:
        return value

    def taken(self, value: Any) -> Any:
        if value is None and self.may_be_absent:
            return None
        return self._checked(value)

    def _checked(self, value: Any) -> Any:
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(_Plain):
    """A text of so many characters at most."""

    most: int = MAX_TEXT_CHARS

    def _checked(self, value: Any) -> str:
        if not isinstance(value, str) or not is_storable(value):
            raise ValueError(f"{shown(value)} is no text that can be stored")
        if len(value) > self.most:
            raise ValueError(f"{len(value)} characters; at most {self.most} fit")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting(_Plain):
    """A text that fits a pattern."""

    pattern: re.Pattern[str]

    def _checked(self, value: Any) -> str:
        if not isinstance(value, str) or self.pattern.fullmatch(value) is None:
            raise ValueError(f"{shown(value)} does not fit {self.pattern.pattern}")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf(_Plain):
    """One of some texts."""

    choices: tuple[str, ...]

    def _checked(self, value: Any) -> str:
        if value not in self.choices:
            raise ValueError(f"{shown(value)} is not one of {', '.join(self.choices)}")
        return str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole(_Plain):
    """A whole number, both ends included."""

    least: int = 0
    most: int = _LONG - 1

    def _checked(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not self.least <= value <= self.most:
            raise ValueError(f"{shown(value)} is no whole number from {self.least} to {self.most}")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(_Plain):
    """A finite number."""

    def _checked(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{shown(value)} is no number")
        try:
            number = float(value)
        except OverflowError as error:
            raise ValueError(f"{shown(value)} is too large a number") from error
        if not math.isfinite(number):
            raise ValueError(f"{shown(value)} is no finite number")
        return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth(_Plain):
    """True or false."""

    def _checked(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError(f"{shown(value)} is neither true nor false")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Id(_Plain):
    """A UUID, as 32 hex digits."""

    def said(self, value: uuid.UUID | None) -> str | None:
        return None if value is None else value.hex

    def _checked(self, value: Any) -> uuid.UUID:
        if not isinstance(value, str) or _HEX32.fullmatch(value) is None:
            raise ValueError(f"{shown(value)} is no id of 32 hex digits")
        return uuid.UUID(hex=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment(_Plain):
    """A time with its zone, by ISO 8601, to the microsecond."""

    def said(self, value: datetime | None) -> str | None:
        return None if value is None else value.astimezone(UTC).isoformat()

    def _checked(self, value: Any) -> datetime:
        try:
            moment = datetime.fromisoformat(value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{shown(value)} is no time") from error
        # Within the years that every zone can write.
        if moment.tzinfo is None or not 2 <= moment.year <= 9_998:
            raise ValueError(f"{shown(value)} is no time with a zone")
        return moment.astimezone(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts(_Plain):
    """Several texts of so many characters at most."""

    most: int = MAX_TEXT_CHARS

    def said(self, value: Any) -> list[str]:
        return list(value)

    def _checked(self, value: Any) -> list[str]:
        if not isinstance(value, list):
            raise ValueError(f"{shown(value)} is no list")
        each = Text(most=self.most)
        return [each.taken(text) for text in value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Json(_Plain):
    """Any JSON of one type."""

    type_: type[dict[str, Any]] | type[list[Any]]

    def _checked(self, value: Any) -> Any:
        if not isinstance(value, self.type_):
            raise ValueError(f"{shown(value)} is no {self.type_.__name__}")
        _check_depth(value, _MAX_DEPTH)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans(_Plain):
    """Where a chunk was cut from: objects that say their kind, and those of lines their first and last."""

    def _checked(self, value: Any) -> list[dict[str, Any]]:
        if not isinstance(value, list):
            raise ValueError(f"{shown(value)} is no list")
        for span in value:
            _check_span(span)
        _check_depth(value, _MAX_DEPTH)
        return value


def _check_span(span: Any) -> None:
    if not isinstance(span, dict) or not isinstance(span.get("kind"), str):
        raise ValueError(f"{shown(span)} is no span")
    if span["kind"] == "line":
        start = Whole(least=1).taken(span.get("start"))
        Whole(least=start).taken(span.get("end"))


def _check_depth(value: Any, left: int) -> None:
    if isinstance(value, str):
        if not is_storable(value):
            raise ValueError(f"{shown(value)} can't be stored")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("holds a number that is not finite")
    elif isinstance(value, dict | list):
        if not left:
            raise ValueError("is nested too deeply")
        for key in value if isinstance(value, dict) else ():
            _check_depth(key, left - 1)
        for each in value.values() if isinstance(value, dict) else value:
            _check_depth(each, left - 1)


def hash_text() -> Fitting:
    """Return the kind of a BLAKE3 hash, as 64 hex digits."""
    return Fitting(pattern=_HEX64)


def place(*, may_be_absent: bool = False) -> Whole:
    """Return the kind of a row's number in another section, from 1."""
    return Whole(least=1, may_be_absent=may_be_absent)
