"""Cursors of record connectors, as a version of a source stores them."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Self

from kebab.identity.models import Group
from search.models import Source, SourceReader


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
