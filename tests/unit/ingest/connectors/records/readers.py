"""A reader that does what its cursor or locator says, in the process of a source."""

import os
import sys
import time
from collections.abc import Iterator, Mapping

from ingest.connectors.errors import ListingFailed, SourceAway
from ingest.connectors.records.requests import ReaderSettings
from ingest.connectors.records.wire import CompleteRecord, DocumentRecord, Record

ERRORS: Mapping[str, type[Exception]] = {
    each.__name__: each for each in (ListingFailed, SourceAway, FileNotFoundError, OSError, KeyError)
}


class ObedientReader:
    """A reader for tests of its process."""

    def __init__(self, settings: ReaderSettings) -> None:
        self._settings = settings

    def records(self, cursor: str) -> Iterator[Record]:
        """Yield a document, then do what the cursor says."""
        yield DocumentRecord(path="a.md", content=b"About tides", metadata={"pid": os.getpid()})
        self._do(cursor)
        yield CompleteRecord()

    def fetch(self, path: str, locator: str, limit_bytes: int) -> bytes:
        """Return what the locator names."""
        return self._do(locator)

    def close(self) -> None:
        """Do nothing."""

    def _do(self, order: str) -> bytes:
        if order in ERRORS:
            raise ERRORS[order](f"{order} of example.org")
        match order:
            case "pid":
                return str(os.getpid()).encode()
            case "secrets":
                return f"{sys.argv} {sorted(os.environ.items())}".encode()
            case "credentials":
                return str(self._settings.credentials).encode()
            case "memory":
                return b"x" * 10**9
            case "loop":
                while True:
                    pass
            case "hang":
                time.sleep(600)
            case "budget":
                self._settings.budget.spend(10**9)
        return b""
