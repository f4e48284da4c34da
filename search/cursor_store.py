"""Where cursors keep their lists: Redis, for a while, and only so much for one caller."""

import logging
from functools import cache
from time import monotonic

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from kebab.stack.addresses import redis_client_url

logger = logging.getLogger(__name__)

#: A list answers for fifteen minutes after it was made or last read; the sixteenth is for slow ways.
KEEP_S = 16 * 60
# A search waits no longer for Redis than for a leg, and asks nothing of one that has just failed.
_LIMIT_S = 0.25
_PAUSE_S = 1.0

# One way to Redis and back. A list that is there lives on; a new one counts against its caller's bytes of
# this quarter of an hour. Redis holds the hints for workers too, and refuses all writes when it is full.
_KEEP = """
if redis.call('EXPIRE', KEYS[1], ARGV[2]) == 1 then return 1 end
local used = redis.call('INCRBY', KEYS[2], #ARGV[1])
if used == #ARGV[1] then redis.call('EXPIRE', KEYS[2], ARGV[2]) end
if used > tonumber(ARGV[3]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1
"""


class CursorStore:
    """Keeps bytes under a name for sixteen minutes after they were last used. Threads may share it."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._keep = client.register_script(_KEEP)
        self._paused_until = 0.0

    def keep(self, owner: str, name: str, content: bytes) -> bool:
        """Keep `content`; False when its owner has kept as much as it may. Raises RedisError."""
        if monotonic() < self._paused_until:
            raise redis.ConnectionError("Redis failed a moment ago.")
        keys = [f"kebab:cursor:{owner}:{name}", f"kebab:cursors-of:{owner}"]
        try:
            return bool(self._keep(keys=keys, args=[content, KEEP_S, settings.KEBAB_CURSOR_LIMIT_BYTES]))
        except redis.RedisError as error:
            logger.warning("no list is kept for the next %g s: %s", _PAUSE_S, error)
            self._paused_until = monotonic() + _PAUSE_S
            raise

    def find(self, owner: str, name: str) -> bytes | None:
        """Give what is kept, for another sixteen minutes; None when there is none. Raises RedisError."""
        return self._client.getex(f"kebab:cursor:{owner}:{name}", ex=KEEP_S)  # type: ignore[return-value]

    def forget(self, owners: str) -> None:
        """Remove what all owners keep whose names begin so. Raises RedisError."""
        for name in self._client.scan_iter(match=f"kebab:cursor*:{owners}*", count=1_000):
            self._client.unlink(name)


@cache
def cursor_store() -> CursorStore:
    """Give this process's store."""
    # A connection that Redis closed while it was idle is made anew, once.
    retry = Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,))
    url = redis_client_url(settings.REDIS_URL)
    return CursorStore(
        redis.Redis.from_url(url, socket_timeout=_LIMIT_S, socket_connect_timeout=_LIMIT_S, retry=retry)
    )
