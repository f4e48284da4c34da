"""A connection as the owner of the tables, for what only the owner may do beside the running system."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections
from psycopg import Connection

from kebab.stack.reachability import connect
from kebab.tenancy.roles import OWNER


@contextmanager
def owner_connection() -> Iterator[Connection]:
    """Give a connection that commits each statement and waits for none longer than five seconds.

    Outside Django: it has no time limit, and a statement that takes no transaction around it may be run.
    """
    with connect(connections[OWNER].settings_dict, options="-c lock_timeout=5000") as owner:
        yield owner
