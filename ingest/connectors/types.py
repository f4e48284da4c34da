"""What a source holds: entries of its listing, and the bytes behind them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from ingest.connectors.project_file import ProjectFile
from ingest.connectors.walk_rules import SkipReason, WalkRules


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file to read. What tells that it has changed: its revision, or without one its size and time."""

    #: POSIX, NFC, relative to the root
    path: str
    size_bytes: int
    mtime_ns: int | None = None
    #: what the source itself calls this content (a git blob, an ETag), up to 200 characters; "" for none
    revision: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedFile:
    """A file, or with a `/` at its end a whole directory, that is left out."""

    #: printable; undecodable bytes are written as escapes
    path: str
    reason: SkipReason


Entry = FoundFile | SkippedFile


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemContent:
    """The bytes of an item, and what is said about them from outside."""

    content: bytes
    mtime_ns: int | None = None
    revision: str = ""
    #: For an upload, when it was asked for.
    requested_at: datetime | None = None
    stated: dict[str, Any] = field(default_factory=dict)


class Connector(Protocol):
    """A source at one version, opened for one job."""

    @property
    def revision(self) -> str:
        """Return what it was opened at (a commit), so that a job that goes on reads the same; ""
        for nothing.
        """
        ...

    def project_file(self) -> ProjectFile | None:
        """Return what the source says of itself. Raises ListingFailed."""
        ...

    def entries(self, rules: WalkRules) -> Iterator[Entry]:
        """Return all that is there. Raises ListingFailed: who has not seen the end deletes nothing."""
        ...

    def read(self, path: str) -> ItemContent:
        """Return the content of one of them. Raises FileNotFoundError, OSError."""
        ...
