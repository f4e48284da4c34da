"""The replication of the database: what its cluster guarantees now of a write that is acknowledged."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.db import connection
from psycopg import Connection

# Levels of `synchronous_commit` that wait for a standby.
_WAITING: Final = frozenset({"on", "remote_write", "remote_apply"})
# Without pg_read_all_stats the state of other roles' processes is NULL.
_FACTS: Final = """
SELECT pg_is_in_recovery(),
    current_setting('synchronous_standby_names'), current_setting('synchronous_commit'), count(pid),
    CASE WHEN count(pid) = count(state) THEN count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) END,
    extract(epoch FROM max(replay_lag))::float8
FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replication:
    """The replication of a server, as a connection of Kebab sees it."""

    is_standby: bool
    #: `synchronous_standby_names`; '' for none.
    names: str
    #: `synchronous_commit` of Kebab's transactions.
    level: str
    standbys: int
    #: Those that commits wait for; None: the role may not see them.
    synchronous: int | None
    #: How long ago the slowest standby replayed the same; None: it is idle, or may not be seen.
    lag_s: float | None

    @property
    def is_refused(self) -> bool:
        """Return whether writes are refused because none would wait for a standby."""
        return settings.KEBAB_REQUIRE_SYNCHRONOUS_STANDBY and not self.waits_for_standby

    @property
    def waits_for_standby(self) -> bool:
        """Return whether a write is acknowledged once a standby has it."""
        return bool(self.names) and self.level in _WAITING


def read_replication(raw: Connection[Any]) -> Replication:
    """Return the replication of the server that a connection leads to. Raises psycopg.Error."""
    row = raw.execute(_FACTS).fetchone()
    assert row is not None  # noqa: S101 - an aggregate has one row
    return Replication(**dict(zip(Replication.__slots__, row, strict=True)))


def is_replicated() -> bool:
    """Return whether the settings name a standby, or require one."""
    return settings.KEBAB_REQUIRE_SYNCHRONOUS_STANDBY or "STANDBY" in settings.DATABASES["default"]


def replication_rows() -> list[Mapping[str, object]]:
    """Return the replication for `kebab status` and the operator's page; nothing for a single server."""
    connection.ensure_connection()
    found = read_replication(connection.connection)
    if not (is_replicated() or found.standbys or found.is_standby):
        return []
    return [
        {
            "server": "standby" if found.is_standby else "primary",
            "writes_wait_for_standby": found.waits_for_standby,
            "standbys": found.standbys,
            "synchronous": found.synchronous,
            "lag_s": found.lag_s,
        }
    ]
