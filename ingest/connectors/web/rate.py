"""Rate limit of requests to a site, shared by all workers.

The state is in Redis under the site's name alone, whichever workspace's source it is: the limit protects the
site. Without Redis each worker limits its own requests.
"""

import logging
import time
from collections.abc import Callable
from functools import cache

import redis

from kebab.stack.servers.redis_client import redis_client, sync_reply

logger = logging.getLogger(__name__)

_POLL_S = 0.25


class RateLimiter:
    """The rate limit of one site; `on_wait` is called during a wait, and may raise to end it."""

    def __init__(self, site: str, interval_s: float, on_wait: Callable[[], None]) -> None:
        self.interval_s = interval_s
        self._name = f"kebab:web:{site}"
        self._on_wait = on_wait
        self._next_at = 0.0

    def wait_turn(self) -> None:
        """Wait until the next request to the site is allowed."""
        while (wait_s := self._wait_s()) > 0:
            self.pause(min(wait_s, _POLL_S))
        self._next_at = time.monotonic() + self.interval_s

    def pause(self, seconds: float) -> None:
        """Wait for `seconds`, calling `on_wait` repeatedly."""
        ends_at = time.monotonic() + seconds
        while (left_s := ends_at - time.monotonic()) > 0:
            self._on_wait()
            time.sleep(min(left_s, _POLL_S))

    def _wait_s(self) -> float:
        own_s = self._next_at - time.monotonic()
        if own_s > 0:
            return own_s
        try:
            return self._shared_wait_s()
        except redis.RedisError as error:
            logger.warning("the pace of a site is kept by this worker alone: %s", error)
            return 0.0

    def _shared_wait_s(self) -> float:
        interval_ms = max(1, round(self.interval_s * 1_000))
        if _redis().set(self._name, 1, nx=True, px=interval_ms):
            return 0.0
        left_ms = int(sync_reply(_redis().pttl(self._name)))
        return max(left_ms, 1) / 1_000


_redis = cache(redis_client)
