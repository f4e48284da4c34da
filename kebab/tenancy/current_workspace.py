"""In which workspace the running code acts: what row-level security lets it see.

Nothing is the default, so code that nobody has told where it acts sees no tenant row at all.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from django.db import connection

#: What the setting `kebab.workspace_id` holds for nothing, and for every workspace.
NOWHERE: Final = ""
EVERYWHERE: Final = "*"

_acting: ContextVar[str] = ContextVar("kebab_acting_in", default=NOWHERE)


def acting_in_setting() -> str:
    """Return the value of `kebab.workspace_id` for the code that runs now: a UUID, NOWHERE or EVERYWHERE."""
    return _acting.get()


@contextmanager
def acting_in(workspace_id: uuid.UUID) -> Iterator[None]:
    """See and write the rows of one workspace, and of no other."""
    with _acting_as(str(workspace_id)):
        yield


@contextmanager
def acting_for_a_step_in(workspace_id: uuid.UUID) -> Iterator[None]:
    """Act in a workspace for one step of long work: outside a transaction its connection is given back."""
    try:
        with acting_in(workspace_id):
            yield
    finally:
        if not connection.in_atomic_block:
            connection.close()


@contextmanager
def acting_everywhere() -> Iterator[None]:
    """See and write the rows of all workspaces: for operators, sweeps, and to find out who is calling."""
    with _acting_as(EVERYWHERE):
        yield


@contextmanager
def acting_nowhere() -> Iterator[None]:
    """See no tenant row: how every request begins."""
    with _acting_as(NOWHERE):
        yield


@contextmanager
def _acting_as(setting: str) -> Iterator[None]:
    token = _acting.set(setting)
    try:
        yield
    finally:
        _acting.reset(token)
