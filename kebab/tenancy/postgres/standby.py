"""The standby that requests read from while the primary can't be reached (`KEBAB_DATABASE_READ_URL`).

It may lack what the primary acknowledged last, and rights that were revoked must not be served for longer
than `KEBAB_STANDBY_MAX_LAG` seconds. So it is read from if the last commit that it has replayed is that
recent, by `pg_last_xact_replay_timestamp`; or if it has replayed the last acknowledged change of rights. That
one's place in the write-ahead log is in Redis, since a primary that has ended can't be asked for it.
"""

import logging
import time
from typing import Any, Final

import redis
from django.conf import settings
from django.db import connection
from psycopg import OperationalError

from kebab.runtime.role import COMMAND, own_role
from kebab.stack.servers.redis_client import redis_client
from kebab.tenancy.postgres.pool import PooledConnection, PostgresPool

logger = logging.getLogger(__name__)

#: The name of the standby's connection pool.
STANDBY: Final = "standby"
# Other processes write at each step of their work, and wait for the primary.
_READING_ROLES: Final = frozenset({"web", COMMAND})
# The most time between two checks.
_CHECK_EVERY_S: Final = 1.0
_REDIS_LIMIT_S: Final = 0.5
# A sorted set with the place as the score, so that a smaller one never replaces it.
_RIGHTS: Final = "kebab:rights"

_REPLAYED: Final = """
SELECT pg_is_in_recovery(),
    extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8,
    pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::float8
"""
_WRITTEN: Final = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8"


class StandbyConnection(PooledConnection):
    """A connection to the standby, or to the primary that it has become."""

    is_standby = True


class StandbyPool(PostgresPool):
    """Connections to the standby, given out while what it has replayed is recent enough."""

    connection_class = StandbyConnection

    def __init__(self, *parameters: Any, **options: Any) -> None:
        super().__init__(*parameters, **options)
        self._recent_until_s = float("-inf")

    def getconn(self) -> PooledConnection:
        """Return a working connection. Raises OperationalError, also if the standby is too far behind."""
        connection = super().getconn()
        try:
            self._check(connection)
        except BaseException:
            self.putconn(connection)
            raise
        return connection

    def _check(self, connection: PooledConnection) -> None:
        now_s = time.monotonic()
        if now_s < self._recent_until_s:
            return
        row = connection.execute(_REPLAYED).fetchone()
        assert row is not None  # noqa: S101 - a query without FROM has one row
        is_in_recovery, age_s, place = row
        left_s = _CHECK_EVERY_S
        if is_in_recovery and not _has_all_rights(place):
            left_s = -1.0 if age_s is None else settings.KEBAB_STANDBY_MAX_LAG - age_s
        if left_s < 0:
            raise OperationalError("The primary is away, and the standby may lack changes of rights.")
        self._recent_until_s = now_s + min(left_s, _CHECK_EVERY_S)


def is_allowed_here() -> bool:
    """Return whether this process may read from a standby."""
    return own_role() in _READING_ROLES


def reads_only() -> bool:
    """Return whether this thread's connection refuses writes, as a standby's does, without a statement."""
    connection.ensure_connection()
    status = connection.connection.pgconn.parameter_status
    return b"on" in (status(b"in_hot_standby"), status(b"default_transaction_read_only"))


def store_rights_place(*, is_change: bool = True) -> None:
    """Store in Redis how far a standby has to be, after the commit of a change of rights.

    Without a change, as heartbeats do, only if the data of Redis were lost; or if the stored place is beyond
    the end of the log, so of a history that a failover or a restore has replaced. Does nothing without a
    standby.
    """
    if connection.settings_dict.get("STANDBY") is None:
        return
    with connection.cursor() as cursor:
        cursor.execute(_WRITTEN)
        (place,) = cursor.fetchone()
    try:
        with redis_client(_REDIS_LIMIT_S) as client:
            stored = None if is_change else client.zscore(_RIGHTS, "place")
            if stored is not None and stored > place:
                logger.error("Changes of rights that were acknowledged are lost: %d > %d", stored, place)
            if stored is None or stored > place:
                client.zadd(_RIGHTS, {"place": place}, gt=stored is None)
    except redis.RedisError as error:
        logger.warning("Redis doesn't know of the last change of rights: %s", error)


def _has_all_rights(place: float | None) -> bool:
    """Return whether a standby that has replayed up to `place` has the last change of rights."""
    try:
        with redis_client(_REDIS_LIMIT_S) as client:
            needed = client.zscore(_RIGHTS, "place")
    except redis.RedisError:
        return False
    return needed is not None and place is not None and place >= needed
