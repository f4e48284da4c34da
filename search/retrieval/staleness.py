"""Staleness of hits by the age of their document in the index."""

from datetime import UTC, datetime, timedelta

STALE_AFTER_DAYS = 30
_NEVER = datetime.min.replace(tzinfo=UTC)


def stale_before(now: datetime, *, stale_after_days: int = STALE_AFTER_DAYS) -> datetime:
    """Return the time before which an indexed document is stale; 0 days switch it off."""
    return now - timedelta(days=stale_after_days) if stale_after_days > 0 else _NEVER
