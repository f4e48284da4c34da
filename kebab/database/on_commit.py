"""What is done once a transaction is committed."""

from collections.abc import Callable
from functools import wraps

from django.db import transaction


def once_committed(act: Callable[..., object], *given: object) -> None:
    """Have `act` called with what is given; what it raises is logged, and keeps nothing else from its turn.

    Whoever asked for the change would take a failure for that of the change, which is done by then.
    """

    @wraps(act)
    def acting() -> None:  # Django tells who failed by a name, which a partial has not
        act(*given)

    transaction.on_commit(acting, robust=True)
