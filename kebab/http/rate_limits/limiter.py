"""Sliding-window counters, shared in Redis, or local to each process while Redis is unavailable."""

from collections.abc import Callable
from functools import cache, partial
from math import ceil
from threading import Lock
from time import time
from typing import Final, TypeVar

import redis
from django.conf import settings
from limits import RateLimitItem
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from kebab.stack.servers.redis_client import RedisCircuitBreaker, quick_redis

_CONNECT_LIMIT_S: Final = 0.02
_PAUSE_S: Final = 5.0

Answer = TypeVar("Answer")


class _CountingStorage(RedisStorage):
    """A storage whose hits return how many more there is room for, in the same request to Redis."""

    SCRIPT_ACQUIRE_SLIDING_WINDOW = RedisStorage.SCRIPT_ACQUIRE_SLIDING_WINDOW.replace(
        b"return true", b"return math.max(limit - weighted_count - amount, 0) + 1"
    )

    def acquire_sliding_window_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> int:  # type: ignore[override]  # a number is as true as True
        """Count a hit; return the room left and one, or 0 if there was none."""
        keys = [self.prefixed_key(self._previous_window_key(key)), self._current_key(key)]
        return int(self.lua_acquire_sliding_window(keys, [limit, expiry, amount]) or 0)

    def _current_key(self, key: str) -> str:
        return self.prefixed_key(self._current_window_key(key))


class Limiter:
    """Counters of hits by name; no method fails, and each makes one request to Redis, `reset` two.

    Threads may share it.

    Cloudflare, "How we built rate limiting capable of scaling to millions of domains" (2017): the window's
    count is that of the current interval plus the share of the previous one that still lies in the window.
    """

    def __init__(self, client: redis.Redis) -> None:
        pool = client.connection_pool
        storage = _CountingStorage("redis://", connection_pool=pool, key_prefix="kebab:limits")
        self._shared = SlidingWindowCounterRateLimiter(storage)
        self._own = SlidingWindowCounterRateLimiter(MemoryStorage())
        # The storage may start its timer twice when two threads count at once, and raises then.
        self._own_lock = Lock()
        self._pause = RedisCircuitBreaker(_PAUSE_S, meanwhile="each process counts alone")

    def hit(self, limit: RateLimitItem, *name: str) -> bool:
        """Count one hit under `name`; return False, without counting it, when the limit is reached."""
        return self.count_down(limit, *name) is not None

    def count_down(self, limit: RateLimitItem, *name: str) -> int | None:
        """Count one hit under `name`; return how many more there is room for, None if it has none."""
        left = self._call(lambda window: window.hit(limit, *name))
        if left is True:  # without Redis
            return self._own.get_window_stats(limit, *name).remaining
        return left - 1 if left else None

    def has_room(self, limit: RateLimitItem, *name: str) -> bool:
        """Return whether one more hit would be within the limit."""
        return self._call(lambda window: window.test(limit, *name))

    def uncount(self, limit: RateLimitItem, *name: str) -> None:
        """Subtract one hit under `name` that should not have been counted."""
        self._call(lambda window: window.hit(limit, *name, cost=-1))

    def retry_after_s(self, limit: RateLimitItem, *name: str) -> int:
        """Return the whole seconds, at least one, until the window has room again."""
        stats = self._call(lambda window: window.get_window_stats(limit, *name))
        return max(1, ceil(stats.reset_time - time()))

    def reset(self, limit: RateLimitItem, *name: str) -> None:
        """Reset the counter under `name`."""
        self._call(lambda window: window.clear(limit, *name))

    def _call(self, operation: Callable[[SlidingWindowCounterRateLimiter], Answer]) -> Answer:
        try:
            return self._pause.call(partial(operation, self._shared))
        except redis.RedisError:
            with self._own_lock:
                return operation(self._own)


def redis_for_limits(url: str, *, answer_limit_s: float) -> redis.Redis:
    """Return a Redis client whose time limits are short enough for a request."""
    return quick_redis(url, connect_limit_s=_CONNECT_LIMIT_S, answer_limit_s=answer_limit_s)


@cache
def limiter() -> Limiter:
    """Return this process's limiter."""
    answer_limit_s = settings.KEBAB_COUNT_LIMIT_MS / 1000
    return Limiter(redis_for_limits(settings.REDIS_URL, answer_limit_s=answer_limit_s))
