"""The current workspace of the running code, which row-level security enforces.

The default is none, so that code which hasn't set it sees no tenant row at all.
"""

import uuid
from collections.abc import Iterator
from contextlib import ContextDecorator, contextmanager
from contextvars import ContextVar
from typing import Final, Self

from django.db import connection

#: Values of the setting `kebab.workspace_id`: for no workspace, and for all of them.
NOWHERE: Final = ""
EVERYWHERE: Final = "*"

_acting: ContextVar[str] = ContextVar("kebab_acting_in", default=NOWHERE)


def workspace_setting() -> str:
    """Return the value of `kebab.workspace_id` for the running code: a UUID, NOWHERE or EVERYWHERE."""
    return _acting.get()


class ActingAs(ContextDecorator):
    """A context manager that sets `kebab.workspace_id` for a block, or for calls of a function.

    It is a class, since each request enters several, and a generator takes three times as long.
    """

    def __init__(self, setting: str) -> None:
        self._setting = setting

    def __enter__(self) -> None:
        self._token = _acting.set(self._setting)

    def __exit__(self, *_: object) -> None:
        _acting.reset(self._token)

    def _recreate_cm(self) -> Self:
        return type(self)(self._setting)


def acting_in(workspace_id: uuid.UUID) -> ActingAs:
    """See and write the rows of one workspace, and of no other."""
    return ActingAs(str(workspace_id))


@contextmanager
def acting_in_step(workspace_id: uuid.UUID) -> Iterator[None]:
    """Act in a workspace for one step of long work; outside a transaction the connection is then released."""
    try:
        with acting_in(workspace_id):
            yield
    finally:
        if not connection.in_atomic_block:
            connection.close()


def acting_everywhere() -> ActingAs:
    """See and write the rows of all workspaces: for operators, sweeps, and the identification of callers."""
    return ActingAs(EVERYWHERE)


def acting_nowhere() -> ActingAs:
    """See no tenant row, as at the start of every request."""
    return ActingAs(NOWHERE)
