"""Calls that clients of the versions with a handshake give up over HTTP: by a request of its own.

It may reach another web process than the call did, so that Redis stands between the two. Versions without a
handshake close the call's connection instead, and a process's client says it on the same line.
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

from kebab.stack.servers.redis_client import Pause, quick_redis
from search.mcp.threads import in_thread

_KEY: Final = "kebab:mcp:given-up"
# A call takes less, and its client waits no longer.
_KEPT_S: Final = 120
# Most calls are answered before the first look.
_BETWEEN_LOOKS_S: Final = 0.25
_CONNECT_LIMIT_S: Final = 0.1
_ANSWER_LIMIT_S: Final = 0.5
_PAUSE_S: Final = 5.0

Answer = TypeVar("Answer")


class GivenUp:
    """Which calls are given up. Threads may share it; without Redis none is."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._pause = Pause(_PAUSE_S, meanwhile="calls that are given up run to their end")

    def note(self, call: str) -> None:
        """Remember that nobody waits for the call."""
        self._ask(lambda: self._client.set(f"{_KEY}:{call}", 1, ex=_KEPT_S))

    def is_noted(self, call: str) -> bool:
        """Return whether nobody waits for the call."""
        return bool(self._ask(lambda: self._client.exists(f"{_KEY}:{call}")))

    def _ask(self, question: Any) -> Any:
        try:
            return self._pause.ask(question)
        except redis.RedisError:
            return None


@cache
def given_up() -> GivenUp:
    """Return this process's."""
    client = quick_redis(settings.REDIS_URL, connect_limit_s=_CONNECT_LIMIT_S, answer_limit_s=_ANSWER_LIMIT_S)
    return GivenUp(client)


def name_of_call(caller: str, session: str, request_id: object) -> str:
    """Return the name of a call that `caller`, whose name no other has, made in one of their sessions."""
    return hashlib.sha256(json.dumps([caller, session, request_id]).encode()).hexdigest()


async def unless_given_up(call: str, answering: Awaitable[Answer]) -> Answer:
    """Return the answer; when the call is given up meanwhile, stop. Raises MCPError then."""
    task = asyncio.ensure_future(answering)
    try:
        while not (await asyncio.wait({task}, timeout=_BETWEEN_LOOKS_S))[0]:
            if await in_thread(lambda: given_up().is_noted(call)):
                raise MCPError(REQUEST_CANCELLED, "The call was given up.")
        return task.result()
    finally:
        task.cancel()
