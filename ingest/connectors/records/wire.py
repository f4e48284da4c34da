"""Records and errors of a reader as frames of its process."""

from dataclasses import fields
from datetime import datetime
from typing import Final

from ingest.connectors.errors import ContentArchived, ListingFailed, SourceAway
from ingest.connectors.records.protocol import (
    CompleteRecord,
    CursorRecord,
    DeletedRecord,
    DocumentRecord,
    Record,
    WarningRecord,
)
from kebab.sandbox.frames import BODY, Header

_RECORDS: Final = {
    kind.__name__: kind
    for kind in (DocumentRecord, DeletedRecord, CursorRecord, CompleteRecord, WarningRecord)
}
#: subclasses first
_ERROR_KINDS: Final = (SourceAway, ListingFailed, FileNotFoundError, ContentArchived, OSError)
_ERRORS: Final = {kind.__name__: kind for kind in _ERROR_KINDS}


def encode_record(record: Record) -> Header:
    """Return the frame of a record."""
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    if isinstance(record, DocumentRecord):
        values |= {"dated": record.dated and record.dated.isoformat(), "content": record.content is not None}
    frame: Header = {"record": type(record).__name__, "values": values}
    return frame | {BODY: getattr(record, "content", None) or b""}


def decode_record(frame: Header) -> Record:
    """Return the record of a frame. Raises LookupError, TypeError, ValueError for any other."""
    values = dict(frame["values"])
    if values.pop("content", False):
        values["content"] = bytes(frame.get(BODY, b""))
    if dated := values.pop("dated", None):
        values["dated"] = datetime.fromisoformat(dated)
    return _RECORDS[frame["record"]](**values)


def encode_error(error: Exception) -> Header:
    """Return the frame that ends an act with one of the errors of a reader."""
    kind = next(name for name, kind in _ERRORS.items() if isinstance(error, kind))
    return {"error": kind, "message": str(error)}


def decode_error(frame: Header) -> Exception:
    """Return the error of a frame. Raises LookupError for any other."""
    return _ERRORS[frame["error"]](frame["message"])
