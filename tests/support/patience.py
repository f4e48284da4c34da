"""Repeated requests to servers that are being killed."""

import time
from collections.abc import Callable
from typing import TypeVar

import httpx
import redis
from django.db import Error, connection

T = TypeVar("T")

_LIMIT_S = 90.0
_PAUSE_S = 0.2


def patiently(ask: Callable[[], T]) -> T:
    """Return the answer of `ask`, repeated while Postgres or Redis is unavailable; it must be repeatable."""
    deadline = time.monotonic() + _LIMIT_S
    while True:
        try:
            return ask()
        except (Error, redis.RedisError, httpx.HTTPError, OSError):
            if time.monotonic() > deadline:
                raise
            connection.close()
            time.sleep(_PAUSE_S)
