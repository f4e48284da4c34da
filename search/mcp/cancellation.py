"""Cancellation of calls over HTTP for protocol versions with a handshake, which use a separate request.

That request may reach another web process than the call, so cancelled calls are kept in Redis. Versions
without a handshake close the call's connection instead, and over standard input the same stream is used.
"""

import asyncio
import hashlib
import json
from collections.abc import Awaitable
from functools import cache
from typing import Any, Final, TypeVar

import redis
from django.conf import settings
from mcp.server.streamable_http import REQUEST_CANCELLED
from mcp.shared.exceptions import MCPError

from kebab.stack.servers.redis_client import RedisCircuitBreaker, quick_redis
from search.mcp.threads import run_in_thread

_KEY: Final = "kebab:mcp:given-up"
# A call takes less, and its client does not wait longer.
_RETENTION_S: Final = 120
# Most calls are answered before the first poll.
_POLL_S: Final = 0.25
_CONNECT_LIMIT_S: Final = 0.1
_ANSWER_LIMIT_S: Final = 0.5
_PAUSE_S: Final = 5.0

Answer = TypeVar("Answer")


class CancelledCalls:
    """The cancelled calls, in Redis. Thread-safe; while Redis is unavailable no call is cancelled."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._pause = RedisCircuitBreaker(_PAUSE_S, meanwhile="calls that are given up run to their end")

    def cancel(self, call: str) -> None:
        """Record that the client no longer waits for the call."""
        self._run(lambda: self._client.set(f"{_KEY}:{call}", 1, ex=_RETENTION_S))

    def is_cancelled(self, call: str) -> bool:
        """Return whether the call was cancelled."""
        return bool(self._run(lambda: self._client.exists(f"{_KEY}:{call}")))

    def _run(self, question: Any) -> Any:
        try:
            return self._pause.call(question)
        except redis.RedisError:
            return None


@cache
def cancelled_calls() -> CancelledCalls:
    """Return this process's registry, in the Redis of the settings."""
    client = quick_redis(settings.REDIS_URL, connect_limit_s=_CONNECT_LIMIT_S, answer_limit_s=_ANSWER_LIMIT_S)
    return CancelledCalls(client)


def call_key(caller: str, session: str, request_id: object) -> str:
    """Return the key of a call in a session of `caller`, a name that is unique to that caller."""
    return hashlib.sha256(json.dumps([caller, session, request_id]).encode()).hexdigest()


async def await_unless_cancelled(call: str, answering: Awaitable[Answer]) -> Answer:
    """Await the answer; if the call is cancelled meanwhile, stop and raise MCPError."""
    task = asyncio.ensure_future(answering)
    try:
        while not (await asyncio.wait({task}, timeout=_POLL_S))[0]:
            if await run_in_thread(lambda: cancelled_calls().is_cancelled(call)):
                raise MCPError(REQUEST_CANCELLED, "The call was given up.")
        return task.result()
    finally:
        task.cancel()
