"""Entries of a source's listing, contents of items, and the interface of connectors."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from ingest.connectors.project_file import ProjectFile
from ingest.connectors.walk_rules import SkipReason, WalkRules
from search.models import Source, SourceVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file to read. It has changed if its revision has, or without one its size or time."""

    #: POSIX, NFC, relative to the root
    path: str
    #: None: unknown, so that its revision alone decides
    size_bytes: int | None
    mtime_ns: int | None = None
    #: the source's own id of this content (a git blob, an ETag), up to 200 characters; "" for none
    revision: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedFile:
    """A skipped file, or with a `/` at the end of its path a whole directory."""

    #: printable; undecodable bytes are written as escapes
    path: str
    reason: SkipReason
    #: that of a document in an archive, which is kept if it is the one that was read
    revision: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedFile(FoundFile):
    """A file that a connector of records reported."""

    #: stored with its item until it is read
    record: Mapping[str, Any]
    #: the bytes that came with the record; None: they are fetched
    content: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedFile:
    """A file that the source says is gone."""

    path: str


Entry = FoundFile | SkippedFile
RecordEntry = RecordedFile | SkippedFile | DeletedFile


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemContent:
    """The bytes of an item, and the fields stated about it by its source or a person."""

    content: bytes
    mtime_ns: int | None = None
    #: For a page, the time of its last change.
    modified_at: datetime | None = None
    revision: str = ""
    #: For an upload, the time of its request.
    requested_at: datetime | None = None
    #: None: the document's present override ends.
    stated: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenOptions:
    """The source to open, and options of one job."""

    source: Source
    version: SourceVersion
    #: the revision at which the job started; "" for a new job
    revision: str = ""
    #: called a few times a second during a wait; ends the wait by raising
    while_waiting: Callable[[], None] = lambda: None
    #: called with each path before it is requested, by a listing that can be resumed there; ends the listing
    #: by raising
    on_position: Callable[[str], None] = lambda path: None
    #: id of the job, by which a resumed job finds what it has read before
    job_id: uuid.UUID = field(default_factory=uuid.uuid4)
    #: whether the job reads single files, for which a connector with a cursor lists everything
    is_partial: bool = False


class Connector(Protocol):
    """A source at one version, opened for one job."""

    @property
    def revision(self) -> str:
        """Return the revision it was opened at (a commit), which a resumed job reads again; "" for none."""
        ...

    def project_file(self) -> ProjectFile | None:
        """Return the source's project file, None without one. Raises ListingFailed."""
        ...

    def entries(self, rules: WalkRules) -> Iterator[Entry]:
        """Yield all entries. Raises ListingFailed: a caller who has not seen the end deletes nothing."""
        ...

    def read(self, path: str) -> ItemContent:
        """Return the content of a file. Raises FileNotFoundError, OSError."""
        ...
