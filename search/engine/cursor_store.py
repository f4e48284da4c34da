"""Redis store of the lists behind cursors, with expiry and a size limit per caller."""

from functools import partial

import redis
from django.conf import settings

from kebab.stack.servers.redis_client import RedisCircuitBreaker, quick_redis, sync_reply

#: A list is available for fifteen minutes after it was stored or last read; the sixteenth covers latency.
RETENTION_S = 16 * 60
# A search waits for Redis no longer than for a leg, and skips a Redis that has just failed.
_LIMIT_S = 0.25
_PAUSE_S = 1.0

# One round trip. An existing list has its expiry extended; a new one counts against its caller's limit of
# bytes for this quarter of an hour: a full Redis would refuse all writes, the hints for workers included.
_STORE_SCRIPT = """
if redis.call('EXPIRE', KEYS[1], ARGV[2]) == 1 then return 1 end
local used = redis.call('INCRBY', KEYS[2], #ARGV[1])
if used == #ARGV[1] then redis.call('EXPIRE', KEYS[2], ARGV[2]) end
if used > tonumber(ARGV[3]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1
"""


class CursorStore:
    """A store of bytes by name, until sixteen minutes after their last use. Threads may share it."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._script = client.register_script(_STORE_SCRIPT)
        # Two, as a full Redis refuses writes but still answers reads.
        self._write_breaker = RedisCircuitBreaker(_PAUSE_S, meanwhile="no list is kept")
        self._read_breaker = RedisCircuitBreaker(_PAUSE_S, meanwhile="no list is found")

    def store(self, owner: str, name: str, content: bytes) -> bool:
        """Store `content`; return False if its owner has reached the limit. Raises RedisError."""
        keys = [f"kebab:cursor:{owner}:{name}", f"kebab:cursors-of:{owner}"]
        values: list[bytes | int] = [content, RETENTION_S, settings.KEBAB_CURSOR_LIMIT_BYTES]
        return bool(self._write_breaker.call(partial(self._script, keys=keys, args=values)))

    def find(self, owner: str, name: str) -> bytes | None:
        """Return the content and extend its expiry by sixteen minutes; None if absent. Raises RedisError."""
        find = partial(self._client.getex, f"kebab:cursor:{owner}:{name}", ex=RETENTION_S)
        content: bytes | None = sync_reply(self._read_breaker.call(find))
        return content

    def delete(self, owners: str) -> None:
        """Delete the content of all owners whose names begin with `owners`. Raises RedisError."""
        for name in self._client.scan_iter(match=f"kebab:cursor*:{owners}*", count=1_000):
            self._client.unlink(name)


def make_cursor_store() -> CursorStore:
    """Return a store in the Redis of the settings."""
    return CursorStore(quick_redis(settings.REDIS_URL, connect_limit_s=_LIMIT_S, answer_limit_s=_LIMIT_S))
