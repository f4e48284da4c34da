"""The context of a tool call: its caller, its progress and its cancellation."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kebab.errors import Forbidden
from kebab.identity.caller import Access, Caller, caller_accesses
from search.engine.several import MAX_WORKSPACES


class CallStopped(Exception):
    """The client no longer waits for the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool's view of the request that it answers."""

    access: Access
    #: The accesses to the caller's other workspaces; empty once the call is about one.
    others: tuple[Access, ...] = ()
    #: The public address of the site; '' if it isn't known.
    site: str = ""
    #: Reports to the client the steps done, the number of steps, and the next step.
    report_progress: Callable[[int, int, str], None] = lambda done, total, message: None
    #: Set once the client no longer waits for the answer.
    stop: threading.Event = field(default_factory=threading.Event)

    def step(self, done: int, total: int, message: str) -> None:
        """Report the progress. Raises CallStopped if the client no longer waits."""
        if self.stop.is_set():
            raise CallStopped
        self.report_progress(done, total, message)

    @property
    def accesses(self) -> tuple[Access, ...]:
        """Return the accesses to all workspaces that the call is about."""
        return (self.access, *self.others)


def caller_accesses_or_refuse(caller: Caller) -> Sequence[Access]:
    """Return a caller's accesses, one at least. Raises Forbidden for a person without a workspace."""
    accesses = caller_accesses(caller, limit=MAX_WORKSPACES)
    if not accesses:
        raise Forbidden("You are a member of no workspace; ask somebody to invite you.")
    return accesses
