"""The context of a tool call: its caller, its progress and its cancellation."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from kebab.people.access.caller import Access


class CallStopped(Exception):
    """The client no longer waits for the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool's view of the request that it answers."""

    access: Access
    #: Reports to the client the steps done, the number of steps, and the next step.
    report_progress: Callable[[int, int, str], None] = lambda done, total, message: None
    #: Set once the client no longer waits for the answer.
    stop: threading.Event = field(default_factory=threading.Event)

    def step(self, done: int, total: int, message: str) -> None:
        """Report the progress. Raises CallStopped if the client no longer waits."""
        if self.stop.is_set():
            raise CallStopped
        self.report_progress(done, total, message)
