"""The standby that requests read from while the primary can't be reached (`KEBAB_DATABASE_READ_URL`).

It may lack what the primary acknowledged last, and rights that were revoked must not be served for longer
than `KEBAB_STANDBY_MAX_LAG` seconds. So it is read from if the last commit that it has replayed is that
recent, by `pg_last_xact_replay_timestamp`; or if it has replayed the last acknowledged change of rights. That
one's place in the write-ahead log is in Redis, since a primary that has ended can't be asked for it.
"""

import time
from typing import Any, Final

from django.conf import settings
from django.db import connection
from psycopg import OperationalError
from psycopg.pq import ConnStatus

from kebab.contributions import lazy
from kebab.runtime.role import COMMAND, own_role
from kebab.tenancy.postgres.pool import PooledConnection, PostgresPool

#: The name of the standby's connection pool.
STANDBY: Final = "standby"
# Other processes write at each step of their work, and wait for the primary.
_READING_ROLES: Final = frozenset({"web", COMMAND})
# The most time between two checks.
_CHECK_EVERY_S: Final = 1.0
# Redis' client is not loaded before it is needed.
_has_all_rights = lazy("kebab.stack.servers.rights_place.has_all_rights")

_REPLAYED: Final = """
SELECT pg_is_in_recovery(),
    extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8,
    pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::float8
"""


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


def leave_lost_primary() -> bool:
    """Close this thread's connection if it was lost; return whether a standby may answer in its place."""
    raw = connection.connection
    if connection.settings_dict.get("STANDBY") is None or getattr(raw, "is_standby", False):
        return False
    if raw is None or raw.pgconn.status == ConnStatus.OK:
        return False
    connection.close()
    return True
