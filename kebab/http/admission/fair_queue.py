"""A fair queue that lends a process's threads to requests, to the callers who used them least first.

Fair queueing (J. Nagle, RFC 970, 1985) by cost: a queue for each caller, and the next slot is for the caller
who held slots for the shortest time lately. One with endless or costly requests delays only their own.
"""

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

_HALF_LIFE_S: Final = 10.0
_REMEMBERED: Final = 1_000
# For so long after a change of callers the threads count as shared.
_SHARED_S: Final = 1.0


class Usage:
    """The seconds for which callers have held slots, of which half are forgotten every ten seconds.

    All queues for threads of a process share one, so that a caller's searches, bulks and calls of tools
    count together.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        # Seconds, and when they were right.
        self._seconds: OrderedDict[str, tuple[float, float]] = OrderedDict()
        # Who took or released a slot last, and when that was another caller than the one before.
        self._latest = ""
        self._changed_at = float("-inf")

    @property
    def is_shared(self) -> bool:
        """Return whether several callers have used threads within the last second."""
        return self.clock() - self._changed_at < _SHARED_S

    def record(self, name: str, now: float) -> None:
        """Record that a caller takes or releases a slot."""
        if name != self._latest:
            self._latest, self._changed_at = name, now

    def charge(self, name: str, seconds: float) -> None:
        """Add the seconds for which a caller has held a slot."""
        now = self.clock()
        self._seconds[name] = self.seconds(name) + seconds, now
        self._seconds.move_to_end(name)
        if len(self._seconds) > _REMEMBERED:
            self._seconds.popitem(last=False)

    def seconds(self, name: str) -> float:
        """Return what is left of a caller's seconds."""
        seconds, since = self._seconds.get(name, (0.0, 0.0))
        return float(seconds * 0.5 ** ((self.clock() - since) / _HALF_LIFE_S)) if seconds else 0.0


# Most refusals that are held back at a time.
_HELD_BACK: Final = 1_000
# How often limits that depend on recent use are looked at while somebody waits.
_CHECK_S: Final = 0.25


class Overloaded(Exception):
    """There is no slot for the request; `is_caller_busy` when its caller fills most of the queue."""

    def __init__(self, *, is_caller_busy: bool) -> None:
        self.is_caller_busy = is_caller_busy
        super().__init__("own" if is_caller_busy else "all")


class ClientGone(Exception):
    """The client disconnected before its request got a slot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """The limits of a fair queue."""

    #: Most requests that run at the same time.
    slots: int
    #: Most requests that wait, of all callers together.
    waiting: int
    #: The longest wait of one request.
    wait_s: float
    #: Most of one caller; 0: all but a quarter, which stays free for others.
    per_caller: int = 0
    #: Whether requests compute, rather than wait: their threads share one interpreter with those of others.
    computes: bool = False
    #: For how long a refusal is held back: clients that send again at once would cost much.
    refusal_s: float = 0.0

    @property
    def slots_per_caller(self) -> int:
        """Return the most slots of one caller."""
        return self.per_caller or max(1, self.slots - max(1, self.slots // 4))

    @property
    def reserved_slots(self) -> int:
        """Return the slots that only callers without one get: a fifth, of three or more at least one."""
        return max(1, self.slots // 5) if self.slots >= 3 else 0

    @property
    def reserved_places(self) -> int:
        """Return the waiting places that only callers without one get."""
        return self.waiting // 5


class FairQueue:
    """A fair queue for the slots of one process. Call its methods in the thread of one event loop only."""

    def __init__(self, capacity: Capacity, usage: Usage | None = None) -> None:
        """Take the `usage` that all queues of a process share."""
        self._capacity = capacity
        self._usage = usage or Usage()
        self._lent: Counter[str] = Counter()
        # Until when the time of a caller's slots has been charged.
        self._charged_at: dict[str, float] = {}
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}
        self.n_lent = 0
        self.n_waiting = 0
        self._n_held_back = 0
        self._check: asyncio.TimerHandle | None = None
        # When a caller took their last slot, if none was released since; under None: the process's last.
        self._exhausted_since: dict[str | None, float] = {}

    @property
    def stalled_s(self) -> float:
        """Return the longest time that all slots of a caller or of the process were held; thread-safe."""
        since = min(list(self._exhausted_since.values()), default=None)
        return 0.0 if since is None else time.monotonic() - since

    async def acquire(self, name: str, disconnect: "Callable[[], asyncio.Future[Any]] | None" = None) -> None:
        """Wait for a slot for the caller `name`; `release` it later.

        The future from `disconnect` ends when the client disconnects. Raises Overloaded, ClientGone.
        """
        if name not in self._queues and self._has_free_slot(name):
            self._lend(name)
            return
        reserved = self._capacity.reserved_places if name in self._queues else 0
        if self.n_waiting >= self._capacity.waiting - reserved:
            self._make_room(name)
        turn = asyncio.get_running_loop().create_future()
        self._queues.setdefault(name, deque()).append(turn)
        self.n_waiting += 1
        if self._capacity.computes and self._check is None:
            self._check = asyncio.get_running_loop().call_later(_CHECK_S, self._serve_regularly)
        try:
            await self._wait_for_turn(turn, name, [] if disconnect is None else [disconnect()])
        except BaseException:
            self._withdraw(turn, name)
            raise

    async def hold_back(self) -> None:
        """Wait before a refusal is sent, unless very many wait already."""
        if not self._capacity.refusal_s or self._n_held_back >= _HELD_BACK:
            return
        self._n_held_back += 1
        try:
            await asyncio.sleep(self._capacity.refusal_s)
        finally:
            self._n_held_back -= 1

    def release(self, name: str) -> None:
        """Release a slot, and lend it to the waiting caller who used slots least."""
        self._charge(name)
        self.n_lent -= 1
        self._lent[name] -= 1
        self._exhausted_since.pop(None, None)
        self._exhausted_since.pop(name, None)
        if not self._lent[name]:
            del self._lent[name], self._charged_at[name]
        self._serve()

    async def _wait_for_turn(
        self, turn: "asyncio.Future[None]", name: str, disconnect: "Sequence[asyncio.Future[Any]]"
    ) -> None:
        done, _ = await asyncio.wait(
            [turn, *disconnect], timeout=self._capacity.wait_s, return_when=asyncio.FIRST_COMPLETED
        )
        if turn in done:
            turn.result()
        elif done:
            raise ClientGone
        else:
            raise Overloaded(is_caller_busy=self._has_majority(name))

    def _withdraw(self, turn: "asyncio.Future[None]", name: str) -> None:
        if turn.done() and not turn.cancelled() and turn.exception() is None:
            self.release(name)  # it was lent just as the wait ended
            return
        queue = self._queues.get(name)
        if queue is not None and turn in queue:
            self._remove(turn, name, queue)

    def _remove(self, turn: "asyncio.Future[None]", name: str, queue: "deque[asyncio.Future[None]]") -> None:
        queue.remove(turn)
        self.n_waiting -= 1
        if not queue:
            del self._queues[name]

    def _has_free_slot(self, name: str) -> bool:
        held, free = self._lent[name], self._capacity.slots - self.n_lent
        if not held:
            return free > 0
        return held < self._most_slots(name) and free > self._capacity.reserved_slots

    def _most_slots(self, name: str) -> int:
        """Return the most slots of a caller now; beside others each second of recent use takes one away."""
        most = self._capacity.slots_per_caller
        if self._capacity.computes and self._usage.is_shared:
            return max(1, most - int(self._used_s(name)))
        return most

    def _lend(self, name: str) -> None:
        self._charge(name)
        self.n_lent += 1
        self._lent[name] += 1
        if self._lent[name] == self._capacity.slots_per_caller:
            self._exhausted_since[name] = time.monotonic()
        if self.n_lent >= self._capacity.slots - self._capacity.reserved_slots:
            self._exhausted_since.setdefault(None, time.monotonic())

    def _charge(self, name: str) -> None:
        """Charge a caller's use of slots until now."""
        now = self._usage.clock()
        held = self._lent[name]
        if held:
            self._usage.charge(name, held * (now - self._charged_at[name]))
        self._charged_at[name] = now
        self._usage.record(name, now)

    def _serve(self) -> None:
        while names := [name for name in self._queues if self._has_free_slot(name)]:
            self._serve_one(names[0] if len(names) == 1 else min(names, key=self._used_s))

    def _serve_regularly(self) -> None:
        """Serve those whose limit has grown since the last release of a slot, until nobody waits."""
        self._serve()
        loop = asyncio.get_running_loop()
        self._check = loop.call_later(_CHECK_S, self._serve_regularly) if self._queues else None

    def _used_s(self, name: str) -> float:
        held = self._lent[name]
        under_way = held * (self._usage.clock() - self._charged_at[name]) if held else 0.0
        return self._usage.seconds(name) + under_way

    def _serve_one(self, name: str) -> None:
        queue = self._queues[name]
        turn = queue[0]
        self._remove(turn, name, queue)
        self._lend(name)
        turn.set_result(None)

    def _make_room(self, name: str) -> None:
        """Refuse the last request of the longest queue. Raises Overloaded if that queue is `name`'s own."""
        longest = max(self._queues, key=lambda other: len(self._queues[other]), default=name)
        if longest == name or len(self._queues.get(name, ())) >= len(self._queues[longest]):
            raise Overloaded(is_caller_busy=self._has_majority(name))
        turn = self._queues[longest][-1]
        self._remove(turn, longest, self._queues[longest])
        turn.set_exception(Overloaded(is_caller_busy=True))

    def _has_majority(self, name: str) -> bool:
        """Return whether a caller has most of the waiting and running requests, but not all."""
        own = len(self._queues.get(name, ())) + self._lent[name]
        is_alone = own == self.n_waiting + self.n_lent
        return not is_alone and 2 * own > self.n_waiting + self.n_lent
