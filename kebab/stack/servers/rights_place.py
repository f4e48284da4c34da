"""The place of the last change of rights in the write-ahead log, stored in Redis for reads from a standby."""

import logging
from typing import Final

import redis
from django.db import connection

from kebab.stack.servers.lost_changes import REDIS_LIMIT_S, RIGHTS, TIMELINE, LostRange, record_lost_range
from kebab.stack.servers.redis_client import redis_client

logger = logging.getLogger(__name__)

# A sorted set with the place as the score, so that a smaller one never replaces it.
_RIGHTS: Final = "kebab:rights"
# Not the place of the insertion: what was inserted after the change and not flushed may be lost with the
# primary, and no standby would ever reach it.
_FLUSHED: Final = f"SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::float8, {TIMELINE}"


def store_rights_place(*, is_change: bool = True) -> None:
    """Store in Redis how far a standby has to be, after the commit of a change of rights.

    Without a change, as heartbeats do, only if the data of Redis were lost; or if the stored place is beyond
    the end of the log, so of a history that a failover or a restore has replaced. Does nothing without a
    standby.
    """
    if connection.settings_dict.get("STANDBY") is None:
        return
    with connection.cursor() as cursor:
        cursor.execute(_FLUSHED)
        place, timeline = cursor.fetchone()
    try:
        with redis_client(REDIS_LIMIT_S) as client:
            stored = None if is_change else client.zscore(_RIGHTS, "place")
            if stored is not None and stored > place:
                former = int(client.zscore(_RIGHTS, "timeline") or 0)
                record_lost_range(LostRange(RIGHTS, int(place), int(stored), former, timeline))
            if stored is None or stored > place:
                client.zadd(_RIGHTS, {"place": place, "timeline": timeline}, gt=stored is None)
    except redis.RedisError as error:
        logger.warning("Redis doesn't know of the last change of rights: %s", error)


def has_all_rights(place: float | None) -> bool:
    """Return whether a standby that has replayed up to `place` has the last change of rights."""
    try:
        with redis_client(REDIS_LIMIT_S) as client:
            needed = client.zscore(_RIGHTS, "place")
    except redis.RedisError:
        return False
    return needed is not None and place is not None and place >= needed
