"""A connection as the owner of the tables, for owner-only statements next to the running system."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections
from psycopg import Connection, OperationalError, errors

from kebab.tenancy.postgres.direct import connect
from kebab.tenancy.roles import OWNER

_LOCK_LIMIT_MS = 5_000


class NotTheOwner(Exception):
    """The owner's URL is missing, wrong or unreachable; set KEBAB_OWNER_DATABASE_URL."""


@contextmanager
def owner_connection() -> Iterator[Connection]:
    """Yield a connection in autocommit that waits for locks for at most five seconds.

    It is outside Django: it has no statement timeout, and can run statements that allow no transaction.
    Raises NotTheOwner if it can't connect, or if a statement needs the owner's rights.
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
