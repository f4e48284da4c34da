"""A process that is restarted when it ends, with exponential backoff."""

import time
from typing import Protocol

_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 10.0
_HEALTHY_AFTER_S = 30.0


class Member(Protocol):
    """A process of the stack: an embedded server or one of Kebab's own."""

    @property
    def name(self) -> str:
        """Return its name in logs and messages."""

    @property
    def pid(self) -> int | None:
        """Return its pid; None while it does not run."""

    def spawn(self) -> object:
        """Start it without waiting."""

    def is_alive(self) -> bool:
        """Return whether it runs."""

    def exit_status(self) -> int | None:
        """Return its exit status; None while it runs."""

    def ask_to_stop(self) -> None:
        """Ask it to finish."""

    def wait(self, limit_s: float | None = None) -> bool:
        """Wait for its end."""

    def kill(self) -> None:
        """Kill it."""


class SupervisedProcess:
    """A member and its restart backoff: 0.2 s, doubled up to 10 s, reset after 30 s of uptime."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self._pause_s = _FIRST_PAUSE_S
        self._spawned_at = time.monotonic()
        self._due_at: float | None = None

    def spawn(self) -> None:
        """Start the member."""
        self._due_at = None
        self._spawned_at = time.monotonic()
        self.member.spawn()

    def uptime_s(self) -> float:
        """Return the seconds since the last start."""
        return time.monotonic() - self._spawned_at

    def record_exit(self) -> float | None:
        """Record an exit of the member; return the backoff in seconds if it is a new one, else None."""
        if self._due_at is not None or self.member.is_alive():
            return None
        if self.uptime_s() >= _HEALTHY_AFTER_S:
            self._pause_s = _FIRST_PAUSE_S
        pause_s = self._pause_s
        self._due_at = time.monotonic() + pause_s
        self._pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        return pause_s

    def is_due(self) -> bool:
        """Return whether the backoff is over and the member is to be started."""
        return self._due_at is not None and time.monotonic() >= self._due_at
