"""A connection as the owner of the tables, for what only the owner may do beside the running system."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections
from psycopg import Connection, OperationalError, errors

from kebab.stack.servers.reachability import connect
from kebab.tenancy.roles import OWNER

_LOCK_LIMIT_MS = 5_000


class NotTheOwner(Exception):
    """The owner's address is missing, is another role's, or leads nowhere; set KEBAB_OWNER_DATABASE_URL."""


@contextmanager
def owner_connection() -> Iterator[Connection]:
    """Return a connection that commits each statement and waits for no lock longer than five seconds.

    Outside Django: it has no time limit, and a statement that takes no transaction around it may be run.
    Raises NotTheOwner when there is none, or when a statement is the owner's alone.
    """
    try:
        owner = connect(connections[OWNER].settings_dict, options=f"-c lock_timeout={_LOCK_LIMIT_MS}")
    except OperationalError as error:
        raise NotTheOwner(str(error)) from error
    with owner:
        try:
            yield owner
        except errors.InsufficientPrivilege as error:
            raise NotTheOwner(str(error)) from error
