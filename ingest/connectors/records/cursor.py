"""Cursors of record connectors, as a version of a source stores them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Final, Self

from django.utils import timezone

from ingest.connectors.records.protocol import CompleteRecord, CursorRecord, Record
from kebab.people.models import Group
from search.models import Source, SourceReader

#: Sources that list what has changed, but not all that is deleted, are listed whole this often.
RELIST_AFTER: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeCursor:
    """The state of a reader that lists what has changed since a time of the server's clock."""

    #: "" before the first listing
    since: str = ""
    #: start of the last whole listing, in ISO format
    listed_at: str = ""

    @classmethod
    def parse(cls, state: str) -> Self:
        """Return the cursor to go on from: that of the first listing if a whole one is due."""
        cursor = cls(**json.loads(state)) if state else cls()
        is_due = not cursor.since or timezone.now() - datetime.fromisoformat(cursor.listed_at) >= RELIST_AFTER
        return cls.first() if is_due else cursor

    @classmethod
    def first(cls) -> Self:
        """Return the cursor of a listing of everything that begins now."""
        return cls(listed_at=timezone.now().isoformat())

    @property
    def is_first(self) -> bool:
        """Return whether everything is listed."""
        return not self.since

    def end(self, since: str, *, is_whole: bool = True) -> Iterator[Record]:
        """Yield the records that end a listing; the next one goes on from `since`."""
        if self.is_first and is_whole:
            yield CompleteRecord()
        yield CursorRecord(state=json.dumps(asdict(self) | {"since": since}))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCursor:
    """A cursor with the readers it was made under: others may read other documents, so it starts anew."""

    state: str = ""
    readers: Sequence[str] | None = None

    @classmethod
    def parse(cls, stored: str) -> Self:
        """Parse a stored cursor; "" is that of a source that was never read."""
        return cls(**json.loads(stored)) if stored else cls()

    def dump(self) -> str:
        """Return the text to store."""
        return json.dumps(asdict(self))

    def state_for(self, readers: Sequence[str] | None) -> str:
        """Return the state to go on from; "" if the readers have changed."""
        return self.state if readers == self.readers else ""


def reader_names(source: Source) -> list[str] | None:
    """Return the names of the groups that the source is restricted to; None if every member reads it."""
    sources = Source.objects.in_workspace(source.workspace_id).filter(pk=source.pk, is_restricted=True)
    if not sources.exists():
        return None
    rows = SourceReader.objects.in_workspace(source.workspace_id).filter(source=source.pk)
    groups = Group.objects.filter(workspace=source.workspace_id, pk__in=rows.values("group_id"))
    return sorted(groups.values_list("name", flat=True))
