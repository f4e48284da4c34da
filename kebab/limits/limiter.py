"""Counts in a sliding window, for all web processes together in Redis, for each alone while Redis is away."""

import logging
from collections.abc import Callable
from functools import cache
from math import ceil
from time import monotonic, time
from typing import Final, TypeVar

import redis
from django.conf import settings
from limits import RateLimitItem
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from redis.backoff import NoBackoff
from redis.retry import Retry

from kebab.stack.addresses import redis_client_url

logger = logging.getLogger(__name__)

_CONNECT_LIMIT_S: Final = 0.02
# So long nothing is asked of a Redis that has just failed.
_PAUSE_S: Final = 5.0

Answer = TypeVar("Answer")


class Limiter:
    """Counts hits under names; every method asks Redis once, and none fails. Threads may share it.

    Cloudflare, "How we built rate limiting capable of scaling to millions of domains" (2017): the window's
    count is that of the current interval and the last one's share that still lies in the window.
    """

    def __init__(self, client: redis.Redis) -> None:
        pool = client.connection_pool
        storage = RedisStorage("redis://", connection_pool=pool, key_prefix="kebab:limits")
        self._shared = SlidingWindowCounterRateLimiter(storage)
        self._own = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._paused_until = 0.0

    def hit(self, limit: RateLimitItem, *name: str) -> bool:
        """Count one more under `name`; False, and nothing is counted, when the limit is reached."""
        return self._ask(lambda window: window.hit(limit, *name))

    def has_room(self, limit: RateLimitItem, *name: str) -> bool:
        """Whether one more would be counted."""
        return self._ask(lambda window: window.test(limit, *name))

    def retry_after_s(self, limit: RateLimitItem, *name: str) -> int:
        """Give after how many whole seconds, at least one, the window has room again."""
        stats = self._ask(lambda window: window.get_window_stats(limit, *name))
        return max(1, ceil(stats.reset_time - time()))

    def forget(self, limit: RateLimitItem, *name: str) -> None:
        """Begin to count anew under `name`."""
        self._ask(lambda window: window.clear(limit, *name))

    def _ask(self, ask: Callable[[SlidingWindowCounterRateLimiter], Answer]) -> Answer:
        if monotonic() >= self._paused_until:
            try:
                return ask(self._shared)
            except redis.RedisError as error:
                logger.warning("each process counts alone for the next %g s: %s", _PAUSE_S, error)
                self._paused_until = monotonic() + _PAUSE_S
        return ask(self._own)


def redis_for_limits(url: str, *, answer_limit_s: float) -> redis.Redis:
    """Give a client that waits for Redis no longer than a request can."""
    return redis.Redis.from_url(
        redis_client_url(url),
        socket_connect_timeout=_CONNECT_LIMIT_S,
        socket_timeout=answer_limit_s,
        # A connection that Redis closed while it was idle is made anew, once.
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
    )


@cache
def limiter() -> Limiter:
    """Give this process's limiter."""
    answer_limit_s = settings.KEBAB_COUNT_LIMIT_MS / 1000
    return Limiter(redis_for_limits(settings.REDIS_URL, answer_limit_s=answer_limit_s))
