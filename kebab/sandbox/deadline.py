"""Deadline of a request to a sandboxed process."""

import time


class Deadline:
    """Wall-clock limit from now on; each step that the process reports extends it, up to `most_seconds`."""

    def __init__(self, seconds: float, *, seconds_per_step: float = 0.0, most_seconds: float = 0.0) -> None:
        #: current limit on the total time
        self.seconds = seconds
        self._started_at = time.monotonic()
        self._seconds_per_step = seconds_per_step
        self._most_seconds = most_seconds

    @property
    def seconds_left(self) -> float:
        """Return the seconds until the deadline."""
        return self._started_at + self.seconds - time.monotonic()

    def extend(self) -> None:
        """Allow `seconds_per_step` from now."""
        wanted = time.monotonic() - self._started_at + self._seconds_per_step
        self.seconds = max(self.seconds, min(wanted, self._most_seconds))
