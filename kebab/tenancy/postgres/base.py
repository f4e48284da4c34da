"""The database backend `kebab.tenancy.postgres`: `SET LOCAL kebab.workspace_id` goes with every statement.

Both are sent as one simple query, which is one transaction in autocommit: no additional round trip, nothing
that outlives the transaction on a pooled connection, and no state of transactions and savepoints to track.
Statements that bypass these cursors (`copy`, `stream`, other connections) don't have the setting.

Without a circuit breaker, requests during a network failure would each wait for their own timeout, in turn in
few threads. A lost connection is reported here; from then on all requests are refused at once, while a
thread tries to connect and closes the breaker on its first success. The circuit breaker of M. T. Nygard,
"Release It!", 2007, except that the trial connection is made by its own thread and not by a caller.
"""

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any, Self, cast
from weakref import WeakKeyDictionary

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base, creation
from psycopg import ClientCursor, Connection, OperationalError, ServerCursor, generators, sql
from psycopg.adapt import Transformer
from psycopg.client_cursor import ClientCursorMixin
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, Format, TransactionStatus

from kebab.tenancy.current_workspace import workspace_setting
from kebab.tenancy.postgres.pool import PooledConnection, PostgresPool
from kebab.tenancy.postgres.standby import STANDBY, StandbyPool, is_allowed_here
from kebab.tenancy.roles import OWNER, grant_truncate

logger = logging.getLogger(__name__)

_PAUSE_S = 0.2
_SIGNS_OF_WAITING = ("timed out", "timeout")
_SIGNS_OF_LIFE = ("too many clients", "connection slots", "too many connections")
#: Timeouts of libpq, unless DATABASE_URL sets others: a broken network is detected within two seconds, while
#: sending and while waiting for an answer; a request that has done something else before is refused within
#: three.
CLIENT_TIMEOUTS: Mapping[str, Any] = {
    "connect_timeout": 3,
    "tcp_user_timeout": 1_000,
    "keepalives_idle": 1,
    "keepalives_interval": 1,
    "keepalives_count": 2,
}
#: Timeouts of PostgreSQL's end: locks of a disconnected client are released within seconds.
SERVER_TIMEOUTS = (
    " -c tcp_user_timeout=3000"
    " -c tcp_keepalives_idle=2 -c tcp_keepalives_interval=1 -c tcp_keepalives_count=2"
)


class NotReplicated(DatabaseError):
    """A transaction was or would be committed on the primary alone."""


# Rows that may be lost are committed with `off`: see kebab/database/transactions.py.
_IS_SAFE = """
SELECT pg_current_xact_id_if_assigned() IS NULL OR current_setting('synchronous_commit') = 'off'
    OR current_setting('synchronous_standby_names') <> ''
"""


class DatabaseBreaker:
    """The circuit breaker of one database. It is thread-safe; a forked child starts with a closed one."""

    def __init__(
        self, connect: Callable[[], psycopg.Connection[Any]], *, on_return: Callable[[], None]
    ) -> None:
        """`connect` creates a trial connection; `on_return` is called once that succeeds again."""
        self._connect = connect
        self._on_return = on_return
        self._lock = threading.Lock()
        self._is_testing = False
        self._is_away = threading.Event()
        os.register_at_fork(after_in_child=self._reset)

    @property
    def is_open(self) -> bool:
        """Return whether PostgreSQL is known to be unreachable."""
        return self._is_away.is_set()

    def refuse_while_away(self) -> None:
        """Raise OperationalError while PostgreSQL is known to be unreachable."""
        if self._is_away.is_set():
            raise psycopg.OperationalError("PostgreSQL could not be reached a moment ago.")

    def report_loss(self, reason: BaseException) -> None:
        """Test in a thread whether PostgreSQL is reachable, and refuse requests while it isn't.

        After a timeout, or with a standby, requests are refused at once, which spares the others the same
        wait. Else only once the test fails: that connection may have been the only one to break.
        """
        with self._lock:
            if self._is_testing:
                return
            self._is_testing = True
        has_standby = "STANDBY" in connections[DEFAULT_DB_ALIAS].settings_dict
        if _has_sign(reason, _SIGNS_OF_WAITING) or (has_standby and not _has_sign(reason, _SIGNS_OF_LIFE)):
            self._open(reason)
        waiting = threading.Thread(
            target=self._probe_until_reachable, args=(reason,), name="postgres-presence", daemon=True
        )
        try:
            waiting.start()
        except RuntimeError:  # no thread can be started: the next loss tries again
            self._reset()

    def _open(self, reason: BaseException) -> None:
        if not self._is_away.is_set():
            self._is_away.set()
            logger.warning("PostgreSQL can't be reached: %s", reason)

    def _probe_until_reachable(self, reason: BaseException) -> None:
        pause = threading.Event()
        while not self._is_reachable():
            self._open(reason)
            pause.wait(_PAUSE_S)
        if self._is_away.is_set():
            logger.info("PostgreSQL can be reached")
        with self._lock:
            self._is_away.clear()
            self._is_testing = False
        self._on_return()

    def _is_reachable(self) -> bool:
        try:
            self._connect().close()
        except (psycopg.Error, OSError) as error:
            # It has too many connections; the existing ones still work.
            return _has_sign(error, _SIGNS_OF_LIFE)
        return True

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._is_testing = False
        self._is_away.clear()


def _has_sign(error: BaseException, signs: Iterable[str]) -> bool:
    return any(sign in str(error) for sign in signs)


@cache
def database_breaker() -> DatabaseBreaker:
    """Return this process's circuit breaker of the application's database."""
    return DatabaseBreaker(_connect, on_return=_close_idle_connections)


def _connect() -> psycopg.Connection[Any]:
    parameters = connections[DEFAULT_DB_ALIAS].get_connection_params()
    del parameters["cursor_factory"], parameters["context"]
    return psycopg.Connection.connect(**parameters, autocommit=True)


def _close_idle_connections() -> None:
    """Close idle connections: those broken by an outage look sound until something is sent.

    Those to the standby are not needed any more.
    """
    for pool in list(DatabaseWrapper._connection_pools.values()):
        pool.close_idle()


_SUCCESSES = (ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK)
# The driver's own, in C; Django's, in Python, returns the same, as connections are in UTC.
_TIME_LOADER: Any = psycopg.adapters.get_loader(psycopg.adapters.types["timestamptz"].oid, Format.TEXT)
# What has looked up the conversions of each connection's values.
_transformers: "WeakKeyDictionary[Connection[Any], Any]" = WeakKeyDictionary()


class Cursor(base.CursorMixin, ClientCursor[Any]):  # type: ignore[misc,name-defined]  # the stubs lack it
    """Executes each statement after the setting, and returns the statement's results only."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> Self:
        """Execute as psycopg does, through the circuit breaker: refused while open, losses are reported."""
        with _Guarded(self.connection):
            return self._execute(query, params, **options)

    def _execute(self, query: Any, params: Any, **options: Any) -> Self:
        if self._is_transaction_aborted:  # only ROLLBACK is accepted
            return super().execute(query, params, **options)
        super().execute(_prepend_setting(query), params, **options)
        self.nextset()
        return self

    def executemany(self, query: Any, params_seq: Iterable[Any], **options: Any) -> None:
        """Execute as psycopg does: in a pipeline, which accepts single statements only."""
        with _transaction_with_setting(self.connection):
            super().executemany(query, params_seq, **options)

    @property
    def _is_transaction_aborted(self) -> bool:
        return self.connection.pgconn.transaction_status == TransactionStatus.INERROR


class ServerSideCursor(base.CursorMixin, ClientCursorMixin[Any, Any], ServerCursor[Any]):  # type: ignore[misc,name-defined]  # the stubs lack it
    """Is declared after the setting; in autocommit WITH HOLD, so it is filled before the setting ends."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> Self:
        """Declare the cursor."""
        with _transaction_with_setting(self.connection):
            return super().execute(query, params, **options)


class DatabaseCreation(creation.DatabaseCreation):
    """Creates, migrates and drops test databases as the owner; the application's role uses them."""

    def create_test_db(self, *args: Any, **options: Any) -> str:
        """Create the database, with the right to truncate its tables between tests."""
        owner = connections[OWNER]
        name = str(owner.creation.create_test_db(*args, **options))
        grant_truncate()
        owner.close()
        self.connection.close()
        self.connection.settings_dict["NAME"] = name
        return name

    def _nodb_cursor(self) -> AbstractContextManager[Any]:
        return connections[OWNER]._nodb_cursor()


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper, with these cursors and the connection pool."""

    creation_class = DatabaseCreation
    # Of Django's wrapper; its stubs lack them.
    _connection_pools: dict[str, PostgresPool]
    _configure_connection: Callable[[PooledConnection], bool]
    close_pool: Callable[[], None]

    def get_connection_params(self) -> dict[str, Any]:
        """Return psycopg's parameters, with the cursor class."""
        return {**super().get_connection_params(), "cursor_factory": Cursor}

    @property
    def pool(self) -> PostgresPool | None:
        """Return the process's connection pool of this database; None if the settings configure none."""
        options = self.settings_dict["OPTIONS"].get("pool")
        if self.alias == NO_DB_ALIAS or not options:
            return None
        if self.alias not in self._connection_pools:
            kind = StandbyPool if self.alias == STANDBY else PostgresPool
            new_pool = kind(self.get_connection_params(), self._configure_connection, **options)
            self._connection_pools.setdefault(self.alias, new_pool)
        return self._connection_pools[self.alias]

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a working connection, from the pool or a new one; while the primary is away, a standby's."""
        try:
            database_breaker().refuse_while_away()
            return super().get_new_connection(conn_params)
        except OperationalError as error:
            database_breaker().report_loss(error)
            standby = self.standby() if is_allowed_here() else None
            if standby is None:
                raise
            return cast(StandbyPool, standby.pool).getconn()

    def standby(self) -> "DatabaseWrapper | None":
        """Return a wrapper of the standby; None without one."""
        config = self.settings_dict.get("STANDBY")
        return None if config is None else DatabaseWrapper({**self.settings_dict, **config}, STANDBY)

    def fetch_prepared(self, name: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Run a statement prepared on this connection, after the setting, and return its rows.

        It needs autocommit. The driver's cursor takes as long as the server for such a statement.
        """
        connection = self.connection
        transformer = _transformers.get(connection)
        if transformer is None:
            context = connection.cursor()
            context.adapters.register_loader("timestamptz", _TIME_LOADER)
            transformer = _transformers[connection] = Transformer(context)
        literals = b",".join(
            [b"NULL" if value is None else transformer.as_literal(value) for value in values]
        )
        statement = b"EXECUTE %s%s" % (name.encode(), b"(%s)" % literals if literals else b"")
        with _Guarded(connection), connection.lock:
            connection.pgconn.send_query(_prepend_setting(statement))
            results = connection.wait(generators.execute(connection.pgconn))
        for result in results:
            if result.status not in _SUCCESSES:
                raise error_from_result(result, encoding="utf-8")
        transformer.set_pgresult(results[-1])
        return transformer.load_rows(0, results[-1].ntuples, tuple)

    def _commit(self) -> None:
        """Commit, if a standby will have what was written, or none is required.

        Raises NotReplicated, also for a commit that no standby has confirmed in time.
        """
        if self.connection is not None and settings.KEBAB_REQUIRE_SYNCHRONOUS_STANDBY:
            with self.cursor() as cursor:
                cursor.execute(_IS_SAFE)
                if cursor.fetchone() != (True,):
                    raise NotReplicated("No synchronous standby is configured: nothing was written.")
        super()._commit()  # type: ignore[misc]  # the stubs lack it
        if self.connection is not None and self.connection.is_unconfirmed:
            _refuse_unconfirmed(self.connection)

    def create_cursor(self, name: str | None = None) -> Any:
        """Return a cursor; one with a name is server-side."""
        if name is None:
            return super().create_cursor()
        return ServerSideCursor(
            self.connection, name=name, scrollable=False, withhold=self.connection.autocommit
        )


class _Guarded:
    """A context manager for a statement: refused while the circuit breaker is open; losses are reported.

    The breaker is the primary's.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        if not self._connection.is_standby:
            database_breaker().refuse_while_away()

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, OperationalError) and not self._connection.is_standby:
            if self._connection.pgconn.status != ConnStatus.OK:
                database_breaker().report_loss(error)
        elif error is None and self._connection.is_unconfirmed:
            _refuse_unconfirmed(self._connection)


def _refuse_unconfirmed(connection: PooledConnection) -> None:
    connection.is_unconfirmed = False
    raise NotReplicated("The standby did not confirm it: it was written, and may be lost.")


def _prepend_setting(query: Any) -> Any:
    setting = f"SET LOCAL kebab.workspace_id = '{workspace_setting()}';"
    if isinstance(query, bytes):
        return setting.encode() + query
    if isinstance(query, sql.Composable):
        return sql.SQL(setting) + query
    return setting + query


@contextmanager
def _transaction_with_setting(connection: Any) -> Iterator[None]:
    """Run the block's statements in one transaction with the setting, which is sent first."""
    if not connection.autocommit:
        connection.execute("")
        yield
        return
    with connection.transaction():
        connection.execute("")
        yield
    if connection.is_unconfirmed:
        _refuse_unconfirmed(connection)
