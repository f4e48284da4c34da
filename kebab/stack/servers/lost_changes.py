"""Ranges of acknowledged changes that a failover or a restore may have lost, listed in Redis."""

import json
import logging
import time
from dataclasses import astuple, dataclass
from typing import Final

import redis

from kebab.stack.servers.redis_client import redis_client, sync_reply

logger = logging.getLogger(__name__)

#: The subject of a range of bytes of the write-ahead log, with changes of rights.
RIGHTS: Final = "rights"
#: The SQL of a primary's timeline.
TIMELINE: Final = "('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int"
# A sorted set, by the time of the finding; they are listed for a week.
_RANGES: Final = "kebab:lost"
_LISTED_S: Final = 7 * 86_400.0
REDIS_LIMIT_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class LostRange:
    """A range of changes of which some may be lost."""

    #: The id of the workspace that has these numbers, or RIGHTS.
    subject: str
    first: int
    last: int
    #: The timeline that they were written on; 0: it was not recorded.
    former_timeline: int
    timeline: int


def record_lost_range(found: LostRange) -> None:
    """Log a range, and list it once; while Redis is away it is in the log alone."""
    logger.error("Acknowledged changes may be lost: %s", found)
    try:
        with redis_client(REDIS_LIMIT_S) as client:
            client.zremrangebyscore(_RANGES, 0, time.time() - _LISTED_S)
            client.zadd(_RANGES, {json.dumps(astuple(found)): time.time()}, nx=True)
    except redis.RedisError as error:
        logger.warning("Lost changes are not listed: %s", error)


def lost_ranges() -> dict[LostRange, float]:
    """Return the listed ranges with the times of their findings, oldest first. Raises RedisError."""
    with redis_client(REDIS_LIMIT_S) as client:
        found = client.zrangebyscore(_RANGES, time.time() - _LISTED_S, "+inf", withscores=True)
    return {LostRange(*json.loads(each)): found_at for each, found_at in sync_reply(found)}


def forget_lost_range(found: LostRange) -> None:
    """Remove a range from the list. Raises RedisError."""
    with redis_client(REDIS_LIMIT_S) as client:
        client.zrem(_RANGES, json.dumps(astuple(found)))
