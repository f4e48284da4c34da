"""Cursors of readers that list what has changed."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Self

from ingest.connectors.records.protocol import CompleteRecord, CursorRecord, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeCursor:
    """The state of a reader that lists what has changed since a time of the server's clock."""

    #: "" before the first listing
    since: str = ""
    #: start of the last whole listing, in ISO format
    listed_at: str = ""

    @classmethod
    def parse(cls, state: str, relist_after_s: float) -> Self:
        """Return the cursor to go on from: that of the first listing if a whole one is due."""
        cursor = cls(**json.loads(state)) if state else cls()
        age = datetime.now(UTC) - datetime.fromisoformat(cursor.listed_at) if cursor.since else timedelta.max
        return cls.first() if age >= timedelta(seconds=relist_after_s) else cursor

    @classmethod
    def first(cls) -> Self:
        """Return the cursor of a listing of everything that begins now."""
        return cls(listed_at=datetime.now(UTC).isoformat())

    @property
    def is_first(self) -> bool:
        """Return whether everything is listed."""
        return not self.since

    def end(self, since: str, *, is_whole: bool = True) -> Iterator[Record]:
        """Yield the records that end a listing; the next one goes on from `since`."""
        if self.is_first and is_whole:
            yield CompleteRecord()
        yield CursorRecord(state=json.dumps(asdict(self) | {"since": since}))
