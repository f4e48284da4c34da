"""Balance of connections between the web processes of a node.

A client keeps its connection, and whichever process is first accepts it: of eight clients one process often
had seven, while the core of another was idle. A process that answers far more clients at once than another
closes connections after their responses, so that these clients connect anew. Requests that one client sends
ahead count as one.

Each process has a number in a shared file, and locks its byte while it lives.
"""

import fcntl
import mmap
import os
import time
from pathlib import Path

from asgiref.typing import ASGISendCallable, ASGISendEvent

_PLACES = 64
_BYTES = 8
# Time between two looks for numbers of processes that have died.
_LOOK_S = 1.0
_CLOSE = (b"connection", b"close")


class WebLoad:
    """The numbers of clients that the web processes of this node answer now."""

    def __init__(self, path: Path) -> None:
        """Take a place in the file at `path`, made if needed; without one, nothing is balanced."""
        self._looked_at = float("-inf")
        self._place: int | None = None
        self._others: list[int] = []
        self._numbers = memoryview(bytearray(_BYTES * _PLACES)).cast("q")
        try:
            self._descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            if os.fstat(self._descriptor).st_size < _BYTES * _PLACES:
                os.pwrite(self._descriptor, bytes(_BYTES * _PLACES), 0)
            self._numbers = memoryview(mmap.mmap(self._descriptor, _BYTES * _PLACES)).cast("q")
            self._place = next((place for place in range(_PLACES) if self._lock(place)), None)
        except OSError:
            return
        if self._place is not None:
            self._numbers[self._place] = 0

    def report(self, clients: int) -> None:
        """Set the number of clients that this process answers now."""
        if self._place is not None:
            self._numbers[self._place] = clients

    @property
    def is_crowded(self) -> bool:
        """Return whether this process answers more than twice as many clients as another, and one more."""
        if self._place is None:
            return False
        own = self._numbers[self._place]
        if own < 2:
            return False
        return any(own > 2 * self._numbers[place] + 1 for place in self._find_others())

    def _find_others(self) -> list[int]:
        """Return the places of the other living processes, looked up at most once a second."""
        now = time.monotonic()
        if now - self._looked_at > _LOOK_S:
            self._looked_at = now
            self._others = [
                place for place in range(_PLACES) if place != self._place and not self._is_free(place)
            ]
        return self._others

    def _is_free(self, place: int) -> bool:
        if not self._lock(place):
            return False
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, place)
        return True

    def _lock(self, place: int) -> bool:
        """Lock the byte of a place; return False if another process has it."""
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except OSError:
            return False
        return True


def close_when_crowded(send: ASGISendCallable, load: WebLoad) -> ASGISendCallable:
    """Return a `send` that asks the client to connect anew while this process is crowded."""

    async def send_balanced(message: ASGISendEvent) -> None:
        if message["type"] == "http.response.start" and load.is_crowded:
            message = {**message, "headers": [*message["headers"], _CLOSE]}
        await send(message)

    return send_balanced
