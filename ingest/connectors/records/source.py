"""The connector of sources whose reader yields records."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from ingest.connectors.errors import ListingFailed
from ingest.connectors.records.wire import (
    CompleteRecord,
    CursorRecord,
    DeletedRecord,
    DocumentRecord,
    Record,
    RecordReader,
    WarningRecord,
)
from ingest.connectors.tree import printable_path
from ingest.connectors.types import DeletedFile, ItemContent, RecordedFile, RecordEntry, SkippedFile
from ingest.connectors.walk_rules import SkipReason, WalkRules
from ingest.connectors.web.content import may_be_readable, readable_path
from ingest.models import JobItem
from kebab.http.api.parsers import strip_unstorable
from search.corpus.blobs import read_blob
from search.corpus.content_ids import content_hash
from search.corpus.paths import normalise_path
from search.errors import InvalidPath
from search.models import Source
from search.models.document import MAX_TITLE_CHARS

_MAX_VERSION_CHARS: Final = 200
_MAX_METADATA_CHARS: Final = 20_000
_MAX_WARNINGS: Final = 20
_MAX_WARNING_CHARS: Final = 500


class RecordSource:
    """A connector that lists what its reader reports; after the listing it knows how far that went."""

    def __init__(
        self, source: Source, reader: RecordReader, *, cursor: str, readers: Sequence[str] | None
    ) -> None:
        """Take the stored cursor, and the names of the groups that the source is restricted to."""
        self._source = source
        self._reader = reader
        self._started_at = cursor
        #: Names of the groups that the source is restricted to; None: every member reads it.
        self.readers = readers
        self._rules = WalkRules.from_settings()
        #: The last cursor that was reported.
        self.cursor = cursor
        #: Whether what was not listed is gone.
        self.is_complete = False
        #: Why the listing broke off; "" if it did not.
        self.failure = ""
        self.warnings: list[str] = []

    def entries(self) -> Iterator[RecordEntry]:
        """Yield what the reader reports. Raises ListingFailed unless it has reported something before."""
        is_empty = True
        try:
            for record in self._reader.records(self._started_at):
                entry = self._read_record(record)
                is_empty = is_empty and entry is None
                if entry is not None:
                    yield entry
        except ListingFailed as error:
            if is_empty:
                raise
            self.failure, self.is_complete = str(error), False

    def read_item(self, item: JobItem) -> ItemContent:
        """Return the content of an item. Raises FileNotFoundError, OSError, SourceAway."""
        record = item.record
        dated = record["dated"]
        return ItemContent(
            content=self._read_bytes(item),
            modified_at=None if dated is None else datetime.fromisoformat(dated),
            revision=record["version"],
            stated=record["stated"],
        )

    def _read_bytes(self, item: JobItem) -> bytes:
        if not item.blob:
            return self._reader.fetch(item.path, item.record["locator"], self._rules.max_bytes(item.path))
        try:
            return read_blob(self._source.workspace_id, item.blob)
        except FileNotFoundError as error:  # it would count as vanished
            raise OSError("Its bytes are gone; sync again.") from error

    def _read_record(self, record: Record) -> RecordEntry | None:
        match record:
            case DocumentRecord():
                return self._read_document(record)
            case DeletedRecord():
                return DeletedFile(path=_normal_path(record.path) or record.path)
            case CursorRecord():
                self.cursor = strip_unstorable(record.state)
            case CompleteRecord():
                self.is_complete = True
            case WarningRecord():
                if len(self.warnings) < _MAX_WARNINGS:
                    self.warnings.append(strip_unstorable(record.message)[:_MAX_WARNING_CHARS])
        return None

    def _read_document(self, record: DocumentRecord) -> RecordEntry:
        path = _normal_path(record.path)
        if path is None:
            shown = printable_path(record.path[:1_000], is_directory=False)
            return SkippedFile(path=shown, reason=SkipReason.UNSAFE_NAME)
        reason = self._skip_reason(record, path)
        if reason is not None:
            revision = _version(record) if reason is SkipReason.ARCHIVED else ""
            return SkippedFile(path=path, reason=reason, revision=revision)
        size_bytes = record.size_bytes if record.content is None else len(record.content)
        version = _version(record)
        return RecordedFile(
            path=path,
            # Without a version it has always changed.
            size_bytes=size_bytes if version else -1,
            revision=version,
            content=record.content,
            record={
                "version": version,
                "locator": strip_unstorable(record.locator),
                "dated": None if record.dated is None else record.dated.isoformat(),
                "stated": _stated_fields(record),
            },
        )

    def _skip_reason(self, record: DocumentRecord, path: str) -> SkipReason | None:
        is_readable = may_be_readable(path) and (
            not record.media_type or readable_path(path, record.media_type) is not None
        )
        if not self._may_be_read_by_readers(record):
            return SkipReason.NOT_PERMITTED
        if not is_readable:
            return SkipReason.NO_PARSER
        size_bytes = len(record.content) if record.content is not None else record.size_bytes or 0
        if self._rules.is_too_large(path, size_bytes):
            return SkipReason.TOO_LARGE
        return self._rules.skip_reason_for_name(path) or (SkipReason.ARCHIVED if record.is_archived else None)

    def _may_be_read_by_readers(self, record: DocumentRecord) -> bool:
        """Return whether all groups that read the source may read the document, as far as is known."""
        if record.groups is None:
            return True
        return self.readers is not None and set(self.readers) <= set(record.groups)


def _normal_path(path: str) -> str | None:
    try:
        return normalise_path(path)
    except InvalidPath:
        return None


def _version(record: DocumentRecord) -> str:
    """Return the version in the length of its column; of a record without one, the hash of what it holds."""
    version = strip_unstorable(record.version)
    if not version and record.content is not None:
        stated = json.dumps(_stated_fields(record), sort_keys=True, default=str)
        version = content_hash(record.content + stated.encode())
    if len(version) <= _MAX_VERSION_CHARS:
        return version
    return hashlib.sha256(version.encode()).hexdigest()


def _stated_fields(record: DocumentRecord) -> dict[str, Any]:
    """Return what the record states about the document, without metadata that is too long."""
    metadata = {**record.metadata, **({"author": record.author} if record.author else {})}
    if len(json.dumps(metadata, default=str)) > _MAX_METADATA_CHARS:
        metadata = {}
    stated = {"title": record.title[:MAX_TITLE_CHARS].strip(), "metadata": metadata}
    return {name: _storable(value) for name, value in stated.items() if value}


def _storable(value: Any) -> Any:
    """Return a JSON value that Postgres can store."""
    if isinstance(value, Mapping):
        return {strip_unstorable(str(name)): _storable(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float) else strip_unstorable(str(value))
