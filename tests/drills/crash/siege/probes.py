"""Whether a store is away is asked of a connection that was open before: it has to break first."""

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
# A fault that does not break a connection for so long is none.
_UNFELT_S = 10.0


def postgres_probe(stack: Stack) -> IsBack:
    """Return whether the embedded Postgres takes connections again, once it has broken one."""
    url = addresses.database_url(stack.data_dir, role=addresses.DATABASE_OWNER)

    def connected() -> psycopg.Connection | None:
        with suppress(psycopg.Error):
            return psycopg.connect(url, connect_timeout=_LIMIT_S, autocommit=True)
        return None

    def answers(connection: psycopg.Connection) -> bool:
        with suppress(psycopg.Error):
            return connection.execute("SELECT 1").fetchone() == (1,)
        return False

    return _is_back(connected, answers, lambda connection: connection.close())


def redis_probe(stack: Stack) -> IsBack:
    """Return whether the embedded Redis answers again, once it has broken a connection."""
    url = addresses.redis_client_url(addresses.redis_url(stack.data_dir))

    def connected() -> redis.Redis | None:
        with suppress(redis.RedisError, OSError):
            # One connection of its own, which isn't silently opened anew.
            pool = redis.ConnectionPool.from_url(url, socket_timeout=_LIMIT_S, retry=Retry(NoBackoff(), 0))
            client = redis.Redis(connection_pool=pool, single_connection_client=True)
            return client if answers(client) else None
        return None

    def answers(client: redis.Redis) -> bool:
        with suppress(redis.RedisError, OSError):
            return bool(client.ping())
        return False

    return _is_back(connected, answers, lambda client: client.close())


def web_probe(stack: Stack) -> IsBack:
    """Return whether another web process answers than the one of now."""
    before = stack.pids().get("web")
    return lambda: stack.pids().get("web", before) != before and stack.answers()


def child_probe(stack: Stack) -> IsBack:
    """Return whether the web process answers; the others of its children do so all the time."""
    return stack.answers


def _is_back(
    connected: Callable[[], C | None], answers: Callable[[C], bool], close: Callable[[C], object]
) -> IsBack:
    witness = [connected()]
    opened_s = now_s()

    def is_back() -> bool:
        held = witness[0]
        if held is not None and now_s() - opened_s < _UNFELT_S and answers(held):
            return False
        if held is not None:
            witness[0] = None
            close(held)
        found = connected()
        if found is None:
            return False
        close(found)
        return True

    return is_back
