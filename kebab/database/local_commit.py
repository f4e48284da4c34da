"""Transactions whose rows a failover may lose: heartbeats, the query log, the last use of tokens."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def local_transaction() -> Iterator[None]:
    """Run the block in a transaction whose commit waits for neither disk nor standby."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit TO off")
        yield
