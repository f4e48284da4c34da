"""Lends a process's threads to requests, in turn over the workspaces that ask.

H. Kimelman's and J. Nagle's fair queueing (J. Nagle, RFC 970, 1985): a queue for each workspace, served by
turns, so that one which asks without end delays its own requests and nobody else's.
"""

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any


class Refused(Exception):
    """There is no thread for the request; `is_own_doing` when its workspace alone fills the queue."""

    def __init__(self, *, is_own_doing: bool) -> None:
        self.is_own_doing = is_own_doing
        super().__init__("own" if is_own_doing else "all")


class Gone(Exception):
    """Whoever asked has left before it was their turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How much there is to lend."""

    #: Requests that are answered at once.
    slots: int
    #: Requests that may wait, of all workspaces together.
    waiting: int
    #: How long one waits at most.
    wait_s: float

    @property
    def slots_of_one(self) -> int:
        """Return how many one workspace may have: a quarter stays free for others."""
        return max(1, self.slots - max(1, self.slots // 4))


class Turns:
    """The slots of one process. Its methods are called in the thread of one event loop alone."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._lent: Counter[str] = Counter()
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self.n_lent = 0
        self.n_waiting = 0
        # Since when a workspace has all that it may have and gave none back; under None: all of them.
        self._full_since: dict[str | None, float] = {}

    @property
    def stalled_s(self) -> float:
        """For how long somebody has had all that they may have without giving one back; in any thread."""
        since = min(list(self._full_since.values()), default=None)
        return 0.0 if since is None else time.monotonic() - since

    async def take(self, name: str, leaving: "Callable[[], Awaitable[Any]] | None" = None) -> None:
        """Wait for a slot for the workspace `name`; `give_back` it later.

        What `leaving` gives ends when nobody waits for the answer any more. Raises Refused, Gone.
        """
        if name not in self._queues and self._may_have(name):
            self._lend(name)
            return
        if self.n_waiting >= self._room.waiting:
            self._make_room(name)
        turn = asyncio.get_running_loop().create_future()
        self._queues.setdefault(name, deque()).append(turn)
        self.n_waiting += 1
        try:
            await self._await(turn, name, [] if leaving is None else [leaving()])
        except BaseException:
            self._withdraw(turn, name)
            raise

    def give_back(self, name: str) -> None:
        """End the use of a slot, and lend it to whose turn it is."""
        self.n_lent -= 1
        self._lent[name] -= 1
        self._full_since.pop(None, None)
        self._full_since.pop(name, None)
        if not self._lent[name]:
            del self._lent[name]
        self._serve()

    async def _await(
        self, turn: "asyncio.Future[None]", name: str, leaving: Sequence[Awaitable[Any]]
    ) -> None:
        done, _ = await asyncio.wait(
            [turn, *leaving], timeout=self._room.wait_s, return_when=asyncio.FIRST_COMPLETED
        )
        if turn in done:
            turn.result()
        elif done:
            raise Gone
        else:
            raise Refused(is_own_doing=self._holds_most(name))

    def _withdraw(self, turn: "asyncio.Future[None]", name: str) -> None:
        if turn.done() and not turn.cancelled() and turn.exception() is None:
            self.give_back(name)  # it was lent in the moment that the wait ended
            return
        queue = self._queues.get(name)
        if queue is not None and turn in queue:
            self._remove(turn, name, queue)

    def _remove(self, turn: "asyncio.Future[None]", name: str, queue: "deque[asyncio.Future[None]]") -> None:
        queue.remove(turn)
        self.n_waiting -= 1
        if not queue:
            del self._queues[name]

    def _may_have(self, name: str) -> bool:
        return self.n_lent < self._room.slots and self._lent[name] < self._room.slots_of_one

    def _lend(self, name: str) -> None:
        self.n_lent += 1
        self._lent[name] += 1
        if self._lent[name] == self._room.slots_of_one:
            self._full_since[name] = time.monotonic()
        if self.n_lent == self._room.slots:
            self._full_since[None] = time.monotonic()

    def _serve(self) -> None:
        for name in list(self._queues):
            if self.n_lent >= self._room.slots:
                return
            if self._may_have(name):
                self._serve_one(name)

    def _serve_one(self, name: str) -> None:
        queue = self._queues[name]
        turn = queue[0]
        self._remove(turn, name, queue)
        if name in self._queues:
            self._queues.move_to_end(name)
        self._lend(name)
        turn.set_result(None)

    def _make_room(self, name: str) -> None:
        """Refuse the last of the longest queue. Raises Refused where that is this one's own."""
        longest = max(self._queues, key=lambda other: len(self._queues[other]), default=name)
        if longest == name or len(self._queues.get(name, ())) >= len(self._queues[longest]):
            raise Refused(is_own_doing=self._holds_most(name))
        turn = self._queues[longest][-1]
        self._remove(turn, longest, self._queues[longest])
        turn.set_exception(Refused(is_own_doing=True))

    def _holds_most(self, name: str) -> bool:
        """Return whether most of what waits and runs is this one's."""
        own = len(self._queues.get(name, ())) + self._lent[name]
        is_alone = own == self.n_waiting + self.n_lent
        return not is_alone and 2 * own > self.n_waiting + self.n_lent
