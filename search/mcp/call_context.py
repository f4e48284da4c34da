"""One call: by whom, how far it is, and whether anybody still waits for it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from kebab.people.access.caller import Access


class CallStopped(Exception):
    """Nobody waits for the answer any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a tool knows of the request that it answers."""

    access: Access
    #: Tells the client that so many steps are done, of how many, and what comes next.
    tell: Callable[[int, int, str], None] = lambda done, total, message: None
    #: Set once nobody waits for the answer.
    stop: threading.Event = field(default_factory=threading.Event)

    def step(self, done: int, total: int, message: str) -> None:
        """Tell how far it is. Raises CallStopped when nobody waits."""
        if self.stop.is_set():
            raise CallStopped
        self.tell(done, total, message)
