"""Staleness of hits by the age of their document in the index."""

from datetime import datetime, timedelta

STALE_AFTER_DAYS = 30


def is_stale(indexed_at: datetime, *, now: datetime, stale_after_days: int = STALE_AFTER_DAYS) -> bool:
    """Return whether `indexed_at` is more than `stale_after_days` before `now`; 0 switches it off."""
    return stale_after_days > 0 and now - indexed_at > timedelta(days=stale_after_days)
