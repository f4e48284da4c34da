"""Lines of connector programs as records: JSON that is checked against the schema `connector_record.v1`."""

import base64
import binascii
import json
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, NoReturn

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import best_match

from ingest.connectors.errors import ListingFailed
from ingest.connectors.records.wire import (
    PROTOCOL,
    CompleteRecord,
    CursorRecord,
    DeletedRecord,
    DocumentRecord,
    Record,
    WarningRecord,
)
from kebab.locations import DOCS

_SCHEMA: Final = "connector_record.v1"
_TEXTS: Final = ("path", "version", "media_type", "title", "author")


class InvalidLine(Exception):
    """A line is no record; the message says why."""


def parse_line(line: str) -> Record | None:
    """Parse a line; None for `start`. Raises InvalidLine, and ListingFailed for an error of the source."""
    try:
        record = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidLine(f"it is not JSON: {error}") from error
    fault = best_match(_validator().iter_errors(record))
    if fault is not None:
        place = ".".join(map(str, fault.absolute_path))
        raise InvalidLine(f"{place}: {fault.message[:200]}" if place else fault.message[:200])
    return _build_record(record)


def _build_record(record: dict[str, Any]) -> Record | None:
    match record["type"]:
        case "start":
            return None
        case "document":
            return _build_document(record)
        case "deleted":
            return DeletedRecord(path=record["path"])
        case "cursor":
            return CursorRecord(state=record["state"])
        case "complete":
            return CompleteRecord()
        case "warning":
            return WarningRecord(message=record["message"])
    raise ListingFailed(record["message"])


def _build_document(record: dict[str, Any]) -> DocumentRecord:
    content = record["text"].encode(errors="replace") if "text" in record else None
    if "base64" in record:
        try:
            content = base64.b64decode(record["base64"], validate=True)
        except binascii.Error as error:
            raise InvalidLine(f"base64: {error}") from error
    dated = datetime.fromisoformat(record["dated"]) if "dated" in record else None
    return DocumentRecord(
        **{name: record.get(name, "") for name in _TEXTS},
        content=content,
        dated=dated if dated is None or dated.tzinfo else dated.replace(tzinfo=UTC),
        metadata=record.get("metadata", {}),
        groups=record.get("groups"),
    )


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


@cache
def _validator() -> Draft202012Validator:
    schema = json.loads((DOCS / "wire-schema" / "v1" / f"{_SCHEMA}.json").read_text(encoding="utf-8"))
    assert schema["properties"]["protocol"]["const"] == PROTOCOL  # noqa: S101  # of one piece with this module
    return Draft202012Validator(schema, format_checker=_formats())


def _formats() -> FormatChecker:
    checker = FormatChecker(formats=())
    checker.checks("date-time", raises=ValueError)(
        lambda value: not isinstance(value, str) or bool(datetime.fromisoformat(value))
    )
    return checker
