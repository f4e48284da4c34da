"""The protocol of readers: their records and errors, as frames of their process and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Final, Protocol

from ingest.connectors.errors import ContentArchived, ListingFailed, SourceAway
from kebab.sandbox.program import BODY, Header

PROTOCOL: Final = "kebab.connector.v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRecord:
    """A document as the source has it now.

    Its path is its identity: make it of what stays, such as an id, if titles or folders change. An equal
    `version` means that nothing in the record has changed; only `content` may come without one.
    """

    #: POSIX, relative; its extension says what it is
    path: str
    #: up to 200 characters count: an ETag, a revision
    version: str = ""
    #: the bytes; None: they are fetched when the document has changed
    content: bytes | None = None
    #: what `fetch` needs beside the path
    locator: str = ""
    size_bytes: int | None = None
    media_type: str = ""
    title: str = ""
    author: str = ""
    #: counts unless the document states a date of its own
    dated: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    #: names of the groups that may read it; None: everybody who may read the source
    groups: Sequence[str] | None = None
    #: whether its bytes must be restored from an archive before they can be fetched
    is_archived: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedRecord:
    """A document that the source no longer has."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorRecord:
    """The state from which the next sync goes on; it is stored once everything before it is stored."""

    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteRecord:
    """The end of a listing of the whole source: documents that it did not name are gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningRecord:
    """A remark for the job's report."""

    message: str


Record = DocumentRecord | DeletedRecord | CursorRecord | CompleteRecord | WarningRecord


class RecordReader(Protocol):
    """A source, opened for one job."""

    def records(self, cursor: str) -> Iterator[Record]:
        """Yield records of what has changed since `cursor`; of everything for "".

        Raises ListingFailed, SourceAway: what was yielded before counts, and nothing else is deleted.
        """
        ...

    def fetch(self, path: str, locator: str, limit_bytes: int) -> bytes:
        """Return the bytes of a document. Raises FileNotFoundError, OSError for it alone, SourceAway."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


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
