"""The current workspace of the running code, which row-level security enforces.

The default is none, so that code which hasn't set it sees no tenant row at all.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from django.db import connection

#: Values of the setting `kebab.workspace_id`: for no workspace, and for all of them.
NOWHERE: Final = ""
EVERYWHERE: Final = "*"

_acting: ContextVar[str] = ContextVar("kebab_acting_in", default=NOWHERE)


def workspace_setting() -> str:
    """Return the value of `kebab.workspace_id` for the running code: a UUID, NOWHERE or EVERYWHERE."""
    return _acting.get()


@contextmanager
def acting_in(workspace_id: uuid.UUID) -> Iterator[None]:
    """See and write the rows of one workspace, and of no other."""
    with _acting_as(str(workspace_id)):
        yield


@contextmanager
def acting_in_step(workspace_id: uuid.UUID) -> Iterator[None]:
    """Act in a workspace for one step of long work; outside a transaction the connection is then released."""
    try:
        with acting_in(workspace_id):
            yield
    finally:
        if not connection.in_atomic_block:
            connection.close()


@contextmanager
def acting_everywhere() -> Iterator[None]:
    """See and write the rows of all workspaces: for operators, sweeps, and the identification of callers."""
    with _acting_as(EVERYWHERE):
        yield


@contextmanager
def acting_nowhere() -> Iterator[None]:
    """See no tenant row, as at the start of every request."""
    with _acting_as(NOWHERE):
        yield


@contextmanager
def _acting_as(setting: str) -> Iterator[None]:
    token = _acting.set(setting)
    try:
        yield
    finally:
        _acting.reset(token)
