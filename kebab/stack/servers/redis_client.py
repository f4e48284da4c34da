"""A Redis client for requests, with short timeouts and a circuit breaker."""

import logging
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TypeVar

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from kebab.observability.metrics.refusals import REDIS_FAILURES
from kebab.stack.servers.addresses import redis_client_url

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")


def redis_client(limit_s: float = 2.0) -> redis.Redis:
    """Return a client of the configured Redis that connects and gets an answer within `limit_s` each."""
    url = redis_client_url(settings.REDIS_URL)
    return redis.Redis.from_url(url, socket_timeout=limit_s, socket_connect_timeout=limit_s)


def quick_redis(url: str, *, connect_limit_s: float, answer_limit_s: float) -> redis.Redis:
    """Return a client for the Redis at `url` with timeouts short enough for a request."""
    return redis.Redis.from_url(
        redis_client_url(url),
        socket_connect_timeout=connect_limit_s,
        socket_timeout=answer_limit_s,
        # A connection that Redis closed while it was idle is opened again, once.
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
    )


class RedisCircuitBreaker:
    """A circuit breaker that stops calls to Redis for a while after a failure. Threads may share it."""

    def __init__(self, length_s: float, *, meanwhile: str) -> None:
        """Take the length of the pause and its effect for the log, such as `no list is kept`."""
        self._length_s = length_s
        self._meanwhile = meanwhile
        self._until = 0.0

    def call(self, operation: Callable[[], Answer]) -> Answer:
        """Return the result of `operation`. Raises RedisError, without a call during a pause."""
        if monotonic() < self._until:
            raise redis.ConnectionError("Redis failed a moment ago.")
        try:
            return operation()
        except redis.RedisError as error:
            REDIS_FAILURES.add()
            logger.warning("%s for the next %g s: %s", self._meanwhile, self._length_s, error)
            self._until = monotonic() + self._length_s
            raise


def sync_reply(reply: Awaitable[Answer] | Answer) -> Answer:
    """Return the reply of a synchronous client, whose types cover the asynchronous one, too."""
    if isinstance(reply, Awaitable):
        raise TypeError("This is the reply of an asynchronous client.")
    return reply
