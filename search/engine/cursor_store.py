"""Where cursors keep their lists: Redis, for a while, and only so much for one caller."""

from functools import cache, partial

import redis
from django.conf import settings

from kebab.stack.servers.redis_client import Pause, quick_redis

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
        self._script = client.register_script(_KEEP)
        # Two: a Redis that is full takes nothing, and still gives what it has.
        self._keeping = Pause(_PAUSE_S, meanwhile="no list is kept")
        self._finding = Pause(_PAUSE_S, meanwhile="no list is found")

    def keep(self, owner: str, name: str, content: bytes) -> bool:
        """Keep `content`; False when its owner has kept as much as it may. Raises RedisError."""
        keys = [f"kebab:cursor:{owner}:{name}", f"kebab:cursors-of:{owner}"]
        values = [content, KEEP_S, settings.KEBAB_CURSOR_LIMIT_BYTES]
        return bool(self._keeping.ask(partial(self._script, keys=keys, args=values)))

    def find(self, owner: str, name: str) -> bytes | None:
        """Return what is kept, for another sixteen minutes; None when there is none. Raises RedisError."""
        find = partial(self._client.getex, f"kebab:cursor:{owner}:{name}", ex=KEEP_S)
        return self._finding.ask(find)  # type: ignore[return-value]

    def forget(self, owners: str) -> None:
        """Remove what all owners keep whose names begin so. Raises RedisError."""
        for name in self._client.scan_iter(match=f"kebab:cursor*:{owners}*", count=1_000):
            self._client.unlink(name)


@cache
def cursor_store() -> CursorStore:
    """Return this process's store."""
    return CursorStore(quick_redis(settings.REDIS_URL, connect_limit_s=_LIMIT_S, answer_limit_s=_LIMIT_S))
