"""The date of a document: the one that it states, else the time at which it was indexed."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

# In a file's properties, its front matter, or its header; the later of several is meant.
_NAMES: Final = ("modified", "updated", "date", "created")


def document_date(metadata: Mapping[str, Any], indexed_at: datetime) -> float:
    """Return the date in seconds since 1970; a date without a time zone is in UTC."""
    for name in _NAMES:
        try:
            stated = datetime.fromisoformat(str(metadata.get(name, "")))
            return (stated if stated.tzinfo else stated.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            continue
    return indexed_at.timestamp()
