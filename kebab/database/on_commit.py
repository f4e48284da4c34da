"""Callbacks on commit of a transaction."""

from collections.abc import Callable
from functools import wraps

from django.db import transaction


def run_on_commit(act: Callable[..., object], *arguments: object) -> None:
    """Call `act` with the arguments on commit; its exceptions are logged, and later callbacks still run.

    If they propagated, the caller would take them for a failure of the change, which is committed by then.
    """

    @wraps(act)
    def callback() -> None:  # Django logs a failing callback by its name, which a partial lacks
        act(*arguments)

    transaction.on_commit(callback, robust=True)
