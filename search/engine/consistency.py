"""Writes that overtake a search: its mirror shows one state of the log, the read-back a later one.

A document that is written anew in between is in neither: its old chunks stand no more, its new ones are not
in the mirror yet. Who waits for a change is to miss nothing, so the search is made again, from a mirror that
has caught up. Everybody else is answered at once, and told of the lag.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, TypeVar

from kebab.people.models import Workspace
from search.access.scope import Scope
from search.mirror import local_mirrors
from search.retrieval.errors import NotSearchableYet

# How often a search is made again, and how long all that may wait for mirrors: else it says what it lacks.
_MOST_TIMES = 5
_LIMIT_S = 2.0


class Attempt(Protocol):
    """A search that was made once."""

    @property
    def has_lost(self) -> bool:
        """Return whether a candidate did not stand any more when it was read."""

    @property
    def seq(self) -> int:
        """Return the change that its candidates were found at."""


A = TypeVar("A", bound=Attempt)


def newest(scope: Scope, attempt: Callable[[Scope], A]) -> tuple[Scope, A]:
    """Make a search under `scope` until nothing has overtaken it, once where no change is waited for.

    Gives the last attempt, and its scope with the log's head as it is known now: behind that is an attempt
    which may have missed something. Raises Workspace.DoesNotExist.
    """
    deadline = time.monotonic() + _LIMIT_S
    found = attempt(scope)
    for _ in range(_MOST_TIMES):
        scope = _with_head(scope, found)
        if not may_lack(scope, found):
            return scope, found
        try:
            local_mirrors.wait_for_seq(
                scope.workspace_id, scope.head_seq, limit_s=deadline - time.monotonic()
            )
        except NotSearchableYet:
            return scope, found
        found = attempt(scope)
    return _with_head(scope, found), found


def may_lack(scope: Scope, found: Attempt) -> bool:
    """Return whether an attempt that `newest` gave with this scope may lack what it should have found.

    So it is with each attempt from a mirror that is ahead of the log: it followed one that was restored over.
    """
    if found.seq > scope.head_seq:
        return True
    return scope.is_awaited and found.has_lost and found.seq < scope.head_seq


def _with_head(scope: Scope, found: Attempt) -> Scope:
    """Look at the log's head again where a candidate was lost: a write since the search began took it.

    So, too, where the mirror had come further than the head was when the search began.
    """
    if not found.has_lost and found.seq <= scope.head_seq:
        return scope
    heads = Workspace.objects.values_list("head_seq", flat=True)
    return replace(scope, head_seq=heads.get(pk=scope.workspace_id))
