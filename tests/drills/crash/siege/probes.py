"""Probes that tell whether a store is back, by a connection opened earlier: it has to break first."""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import psycopg
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from kebab.stack.servers import addresses
from tests.drills.crash.siege.clock import now_s
from tests.drills.crash.siege.outages import IsBack
from tests.support.stack import Stack

C = TypeVar("C")

_LIMIT_S = 2
# A fault that doesn't break a connection within this time has no effect.
_UNFELT_S = 10.0


def postgres_probe(stack: Stack) -> IsBack:
    """Return a probe of whether the embedded Postgres accepts connections again, after it has broken one."""
    url = addresses.database_url(stack.data_dir, role=addresses.DATABASE_OWNER)

    def connect() -> psycopg.Connection | None:
        with suppress(psycopg.Error):
            return psycopg.connect(url, connect_timeout=_LIMIT_S, autocommit=True)
        return None

    def answers(connection: psycopg.Connection) -> bool:
        with suppress(psycopg.Error):
            return connection.execute("SELECT 1").fetchone() == (1,)
        return False

    return _is_back(connect, answers, lambda connection: connection.close())


def redis_probe(stack: Stack) -> IsBack:
    """Return a probe of whether the embedded Redis answers again, after it has broken a connection."""
    url = addresses.redis_client_url(addresses.redis_url(stack.data_dir))

    def connect() -> redis.Redis | None:
        with suppress(redis.RedisError, OSError):
            # One connection of its own, which isn't silently reopened.
            pool = redis.ConnectionPool.from_url(url, socket_timeout=_LIMIT_S, retry=Retry(NoBackoff(), 0))
            client = redis.Redis(connection_pool=pool, single_connection_client=True)
            return client if answers(client) else None
        return None

    def answers(client: redis.Redis) -> bool:
        with suppress(redis.RedisError, OSError):
            return bool(client.ping())
        return False

    return _is_back(connect, answers, lambda client: client.close())


def web_probe(stack: Stack) -> IsBack:
    """Return a probe of whether another web process than the present one answers."""
    before = stack.pids().get("web")
    return lambda: stack.pids().get("web", before) != before and stack.answers()


def child_probe(stack: Stack) -> IsBack:
    """Return a probe of whether the web process answers; its other children do so all the time."""
    return stack.answers


def _is_back(
    connect: Callable[[], C | None], answers: Callable[[C], bool], close: Callable[[C], object]
) -> IsBack:
    witness = [connect()]
    opened_s = now_s()

    def is_back() -> bool:
        connection = witness[0]
        if connection is not None and now_s() - opened_s < _UNFELT_S and answers(connection):
            return False
        if connection is not None:
            witness[0] = None
            close(connection)
        reconnection = connect()
        if reconnection is None:
            return False
        close(reconnection)
        return True

    return is_back
