"""Counts in a sliding window, for all web processes together in Redis, for each alone while Redis is away."""

from collections.abc import Callable
from functools import cache, partial
from math import ceil
from time import time
from typing import Final, TypeVar

import redis
from django.conf import settings
from limits import RateLimitItem
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from kebab.stack.servers.redis_client import Pause, quick_redis

_CONNECT_LIMIT_S: Final = 0.02
_PAUSE_S: Final = 5.0

Answer = TypeVar("Answer")


class Limiter:
    """Counts hits under names; no method fails, and each asks Redis once, but `forget` twice.

    Threads may share it.

    Cloudflare, "How we built rate limiting capable of scaling to millions of domains" (2017): the window's
    count is that of the current interval and the last one's share that still lies in the window.
    """

    def __init__(self, client: redis.Redis) -> None:
        pool = client.connection_pool
        storage = RedisStorage("redis://", connection_pool=pool, key_prefix="kebab:limits")
        self._shared = SlidingWindowCounterRateLimiter(storage)
        self._own = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._pause = Pause(_PAUSE_S, meanwhile="each process counts alone")

    def hit(self, limit: RateLimitItem, *name: str) -> bool:
        """Count one more under `name`; False, and nothing is counted, when the limit is reached."""
        return self._ask(lambda window: window.hit(limit, *name))

    def has_room(self, limit: RateLimitItem, *name: str) -> bool:
        """Return whether one more would be counted."""
        return self._ask(lambda window: window.test(limit, *name))

    def take_back(self, limit: RateLimitItem, *name: str) -> None:
        """Count one less under `name`, as one was counted that should not have been."""
        self._ask(lambda window: window.hit(limit, *name, cost=-1))

    def retry_after_s(self, limit: RateLimitItem, *name: str) -> int:
        """Return after how many whole seconds, at least one, the window has room again."""
        stats = self._ask(lambda window: window.get_window_stats(limit, *name))
        return max(1, ceil(stats.reset_time - time()))

    def forget(self, limit: RateLimitItem, *name: str) -> None:
        """Begin to count anew under `name`."""
        self._ask(lambda window: window.clear(limit, *name))

    def _ask(self, ask: Callable[[SlidingWindowCounterRateLimiter], Answer]) -> Answer:
        try:
            return self._pause.ask(partial(ask, self._shared))
        except redis.RedisError:
            return ask(self._own)


def redis_for_limits(url: str, *, answer_limit_s: float) -> redis.Redis:
    """Return a client that waits for Redis no longer than a request can."""
    return quick_redis(url, connect_limit_s=_CONNECT_LIMIT_S, answer_limit_s=answer_limit_s)


@cache
def limiter() -> Limiter:
    """Return this process's limiter."""
    answer_limit_s = settings.KEBAB_COUNT_LIMIT_MS / 1000
    return Limiter(redis_for_limits(settings.REDIS_URL, answer_limit_s=answer_limit_s))
