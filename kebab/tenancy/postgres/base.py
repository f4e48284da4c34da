"""The database backend `kebab.tenancy.postgres`: `SET LOCAL kebab.workspace_id` goes with every statement.

Both travel as one simple query, which is one transaction in autocommit: no round trip more, nothing that
outlives the transaction on a pooled connection, and nothing to remember about transactions and savepoints.
Whatever goes past these cursors (`copy`, `stream`, a connection of one's own) has no setting of its own.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base
from psycopg import ClientCursor, Connection, OperationalError, ServerCursor, sql
from psycopg.client_cursor import ClientCursorMixin
from psycopg.pq import ConnStatus, TransactionStatus

from kebab.tenancy.current_workspace import acting_in_setting
from kebab.tenancy.postgres.availability import presence
from kebab.tenancy.postgres.creation import DatabaseCreation
from kebab.tenancy.postgres.pool import KeptConnections


class Cursor(base.CursorMixin, ClientCursor[Any]):
    """Executes each statement behind the setting, and shows the statement's results alone."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> Self:
        """Execute as psycopg does; a connection that breaks is told of, and none is tried while all are."""
        presence().refuse_while_away()
        try:
            return self._execute(query, params, **options)
        except OperationalError as error:
            if self.connection.pgconn.status != ConnStatus.OK:
                presence().note_loss(error)
            raise

    def _execute(self, query: Any, params: Any, **options: Any) -> Self:
        if self._is_transaction_lost:  # nothing but ROLLBACK is taken
            return super().execute(query, params, **options)
        super().execute(_behind_setting(query), params, **options)
        self.nextset()
        return self

    def executemany(self, query: Any, params_seq: Iterable[Any], **options: Any) -> None:
        """Execute as psycopg does: in a pipeline, which takes one statement at a time."""
        with _setting_sent(self.connection):
            super().executemany(query, params_seq, **options)

    @property
    def _is_transaction_lost(self) -> bool:
        return self.connection.pgconn.transaction_status == TransactionStatus.INERROR


class ServerSideCursor(base.CursorMixin, ClientCursorMixin[Any, Any], ServerCursor[Any]):
    """Is declared behind the setting; in autocommit it is held, and so filled before the setting ends."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> Self:
        """Declare the cursor."""
        with _setting_sent(self.connection):
            return super().execute(query, params, **options)


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's, with these cursors."""

    creation_class = DatabaseCreation

    def get_connection_params(self) -> dict[str, Any]:
        """Return psycopg's parameters."""
        return {**super().get_connection_params(), "cursor_factory": Cursor}

    @property
    def pool(self) -> KeptConnections | None:
        """Return what the process keeps for this database; nothing where the settings name no such thing."""
        options = self.settings_dict["OPTIONS"].get("pool")
        if self.alias == NO_DB_ALIAS or not options:
            return None
        if self.alias not in self._connection_pools:
            kept = KeptConnections(self.get_connection_params(), self._configure_connection, **options)
            self._connection_pools.setdefault(self.alias, kept)
        return self._connection_pools[self.alias]

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a connection that is sound, of those that are kept or a new one."""
        presence().refuse_while_away()
        try:
            return super().get_new_connection(conn_params)
        except OperationalError as error:
            presence().note_loss(error)
            raise

    def create_cursor(self, name: str | None = None) -> Any:
        """Return a cursor; one with a name is server-side."""
        if name is None:
            return super().create_cursor()
        return ServerSideCursor(
            self.connection, name=name, scrollable=False, withhold=self.connection.autocommit
        )


def _behind_setting(query: Any) -> Any:
    setting = f"SET LOCAL kebab.workspace_id = '{acting_in_setting()}';"
    if isinstance(query, bytes):
        return setting.encode() + query
    if isinstance(query, sql.Composable):
        return sql.SQL(setting) + query
    return setting + query


@contextmanager
def _setting_sent(connection: Connection) -> Iterator[None]:
    """Have the block's statements run in one transaction with the setting, which is sent for itself."""
    if not connection.autocommit:
        connection.execute("")
        yield
        return
    with connection.transaction():
        connection.execute("")
        yield
