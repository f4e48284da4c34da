"""Types of the fields of a bundle's rows, by which pydantic makes their JSON and validates it.

Everything in a bundle is validated before use: a row has exactly the fields of its section, each of its type,
and only values that Postgres can store.
"""

import json
import math
import re
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
    with_config,
)
from typing_extensions import TypedDict

from kebab.wire import locate_error
from search.retrieval.errors import preview
from search.retrieval.text.sanitize import is_storable

#: Types by the names of the fields.
Fields = Mapping[str, Any]
Rows = TypeAdapter[dict[str, Any]]

STRICT: Final = ConfigDict(strict=True, extra="forbid")
#: Limit of texts without a limit of their own.
MAX_TEXT_CHARS: Final = 20_000_000
#: Limit of counters that continue after an import.
MAX_COUNT: Final = 2**53
_INT64_LIMIT: Final = 2**63
# As rows that are not stored yet have no time.
_PRESENT: Final = "unless-none"
_WRONG_FIELDS: Final = {"missing", "extra_forbidden", "unexpected_keyword_argument"}
_HEX32: Final = re.compile(r"[0-9a-f]{32}")
# Deeper than any stored value, and far below the recursion limit of Python's parser.
_MAX_DEPTH: Final = 400


def rows_of(fields: Fields) -> Rows:
    """Return the type of rows with these fields."""
    return TypeAdapter(with_config(STRICT)(TypedDict("Row", fields)))  # type: ignore[operator]  # fields by name


def row_to_json(rows: Rows, row: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a row to JSON."""
    converted: dict[str, Any] = rows.dump_python(dict(row), mode="json", warnings=False)
    return converted


def row_from_json(rows: Rows, row: Any) -> dict[str, Any]:
    """Validate a row's JSON and convert it. Raises ValueError, naming the wrong field and its value."""
    try:
        return rows.validate_python(row)
    except ValidationError as error:
        raise ValueError(describe(error)) from error


def describe(error: ValidationError) -> str:
    """Return what is wrong first: the field, its problem and its value."""
    first = error.errors(include_url=False)[0]
    place, message = locate_error(first)
    if first["type"] in _WRONG_FIELDS:
        return f"has not the fields that belong to it: {place}"
    problem = f"{message}, not {preview(first['input'])}"
    return f"{place}: {problem}" if place else problem


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
    raise ValueError(f"{name} is not a number")


def _parse_id(value: Any) -> uuid.UUID:
    if not isinstance(value, str) or _HEX32.fullmatch(value) is None:
        raise ValueError("Input should be 32 hex digits")
    return uuid.UUID(hex=value)


def _parse_time(value: Any) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise ValueError("Input should be a time") from error
    # Years that are valid in every time zone.
    if moment.tzinfo is None or not 2 <= moment.year <= 9_998:
        raise ValueError("Input should be a time with a zone")
    return moment.astimezone(UTC)


def _check_json(value: Any, max_depth: int = _MAX_DEPTH) -> Any:
    if isinstance(value, str):
        if not is_storable(value):
            raise ValueError("Input should have characters that can be stored")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("Input should have finite numbers")
    elif isinstance(value, dict | list):
        if not max_depth:
            raise ValueError("Input should be less nested")
        for key in value if isinstance(value, dict) else ():
            _check_json(key, max_depth - 1)
        for each in value.values() if isinstance(value, dict) else value:
            _check_json(each, max_depth - 1)
    return value


def _check_spans(spans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for span in spans:
        kind, start, end = (span.get(name) for name in ("kind", "start", "end"))
        if not isinstance(kind, str):
            raise ValueError("Input should be spans with a kind")
        are_lines = type(start) is int and type(end) is int and 1 <= start <= end < _INT64_LIMIT
        if kind == "line" and not are_lines:
            raise ValueError("Input should be spans from one line to another")
    return spans


#: A text that can be stored.
StorableText = Annotated[str, Field(pattern=r"^[^\x00]*$")]
#: A BLAKE3 of 64 hex digits.
HashText = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
#: A finite number.
Number = Annotated[float, Field(allow_inf_nan=False)]
#: A UUID, as 32 hex digits.
Id = Annotated[
    uuid.UUID, BeforeValidator(_parse_id), PlainSerializer(lambda value: value.hex, when_used=_PRESENT)
]
#: A time with its zone, by ISO 8601, to the microsecond.
Timestamp = Annotated[
    datetime,
    BeforeValidator(_parse_time),
    PlainSerializer(lambda value: value.astimezone(UTC).isoformat(), when_used=_PRESENT),
]
JsonObject = Annotated[dict[str, Any], AfterValidator(_check_json)]
JsonList = Annotated[list[Any], AfterValidator(_check_json)]
#: A chunk's source spans: objects with a kind, and with first and last line if the kind is `line`.
Spans = Annotated[list[dict[str, Any]], AfterValidator(_check_spans), AfterValidator(_check_json)]


def text(most: int = MAX_TEXT_CHARS) -> Any:
    """Return the type of a text of `most` characters at most."""
    return Annotated[StorableText, Field(max_length=most)]


def texts(most: int = MAX_TEXT_CHARS) -> Any:
    """Return the type of a list of texts of `most` characters each at most."""
    return list.__class_getitem__(text(most))


def one_of(*choices: str) -> Any:
    """Return the type of one of some texts."""
    return Literal.__getitem__(choices)


def integer(least: int = 0, most: int = _INT64_LIMIT - 1) -> Any:
    """Return the type of a whole number from `least` to `most`, both included."""
    return Annotated[int, Field(ge=least, le=most)]


#: The number of a row, from 1, in another section.
ROW_NUMBER: Final = integer(least=1)
