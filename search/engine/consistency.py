"""Retry of searches during concurrent writes: the mirror may show an older state than the read-back.

A document that is rewritten in between is missing from both: its old chunks are deleted, its new ones not
yet in the mirror. A caller that waits for a change must miss nothing, so its search is repeated with a mirror
that has caught up. Other callers get the first result, with the lag.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, TypeVar

from kebab.people.models import Workspace
from search.access.scope import SearchScope
from search.mirror import local_mirrors
from search.retrieval.errors import NotSearchableYet

# Limits on the retries and on their total wait for mirrors; after them the result is marked as degraded.
_MAX_RETRIES = 5
_LIMIT_S = 2.0


class Attempt(Protocol):
    """One run of a search."""

    @property
    def has_lost_candidates(self) -> bool:
        """Return whether a candidate was no longer visible in the read-back."""

    @property
    def seq(self) -> int:
        """Return the change at which its candidates were found."""


A = TypeVar("A", bound=Attempt)


def retry_until_current(scope: SearchScope, attempt: Callable[[SearchScope], A]) -> tuple[SearchScope, A]:
    """Run a search under `scope` until no write has overtaken it; only once if it waits for no change.

    Return the scope, with the current head of the log, and the last attempt; an attempt behind that head may
    have missed something. Raises Workspace.DoesNotExist.
    """
    deadline = time.monotonic() + _LIMIT_S
    found = attempt(scope)
    for _ in range(_MAX_RETRIES):
        scope = _refresh_head(scope, found)
        if not may_be_incomplete(scope, found):
            return scope, found
        try:
            local_mirrors.wait_for_seq(
                scope.workspace_id, scope.head_seq, limit_s=deadline - time.monotonic()
            )
        except NotSearchableYet:
            return scope, found
        found = attempt(scope)
    return _refresh_head(scope, found), found


def may_be_incomplete(scope: SearchScope, found: Attempt) -> bool:
    """Return whether an attempt of `retry_until_current` with this scope may have missed chunks.

    It always may if its mirror is ahead of the log: the mirror followed a log that a restore has replaced.
    """
    if found.seq > scope.head_seq:
        return True
    return scope.has_waited and found.has_lost_candidates and found.seq < scope.head_seq


def _refresh_head(scope: SearchScope, found: Attempt) -> SearchScope:
    """Read the head of the log again if a candidate was lost, as a write since the search began removed it.

    Read it again, too, if the mirror is ahead of the head at the start of the search.
    """
    if not found.has_lost_candidates and found.seq <= scope.head_seq:
        return scope
    heads = Workspace.objects.values_list("head_seq", flat=True)
    return replace(scope, head_seq=heads.get(pk=scope.workspace_id))
