"""Transactions: callbacks on commit, and commits whose rows a failover may lose."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps

from django.db import connection, transaction


def run_on_commit(act: Callable[..., object], *arguments: object) -> None:
    """Call `act` with the arguments on commit; its exceptions are logged, and later callbacks still run.

    If they propagated, the caller would take them for a failure of the change, which is committed by then.
    """

    @wraps(act)
    def callback() -> None:  # Django logs a failing callback by its name, which a partial lacks
        act(*arguments)

    transaction.on_commit(callback, robust=True)


@contextmanager
def local_transaction() -> Iterator[None]:
    """Run the block in a transaction whose commit waits for neither disk nor standby."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit TO off")
        yield
