"""Budgets of a process for bodies that are being received or wait, in fair shares of their callers.

When the whole is full, the largest body of the caller who holds most is dropped, until there is room: shares
are max-min fair (D. Bertsekas and R. Gallager, Data Networks, 1992, 6.5.2). The last fifth is for callers who
hold at most a tenth of the whole.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from kebab.http.admission.fair_queue import Overloaded

_BUFFERED_BYTES: Final = 16_000_000
_SPOOLED_BODIES: Final = 128


class BodyBudget:
    """A number of bytes, or of bodies, for all bodies of a process."""

    def __init__(self, most: int = _BUFFERED_BYTES) -> None:
        self._most = most
        self._held: Counter[str] = Counter()
        self._shares: defaultdict[str, set[BodyShare]] = defaultdict(set)
        #: How much is held.
        self.n = 0

    def add(self, share: "BodyShare", size: int) -> None:
        """Add to what a body holds. Raises Overloaded if its caller already holds most."""
        own = self._held[share.caller] + size
        limit = self._most if 10 * own <= self._most else self._most - self._most // 5
        while self.n + size > limit:
            largest = max(self._held, key=self._held.__getitem__, default=share.caller)
            if self._held[largest] <= own:
                is_alone = own == self.n + size
                raise Overloaded(is_caller_busy=not is_alone and 2 * own > self.n + size)
            max(self._shares[largest], key=lambda each: each.size).drop()
        self._shares[share.caller].add(share)
        share.size += size
        self._change(share.caller, size)

    def remove(self, share: "BodyShare") -> None:
        """Remove all that a body holds."""
        shares = self._shares[share.caller]
        shares.discard(share)
        self._change(share.caller, -share.size)
        share.size = 0
        if not shares:
            del self._shares[share.caller], self._held[share.caller]

    def _change(self, caller: str, size: int) -> None:
        self.n += size
        self._held[caller] += size


class BodyShare:
    """The part of a budget that one body holds."""

    def __init__(self, budget: BodyBudget, caller: str, on_drop: Callable[[], None]) -> None:
        """Take what ends the body's request when others need the room."""
        self.caller = caller
        self.size = 0
        self._budget = budget
        self._on_drop = on_drop

    def add(self, size: int) -> None:
        """Add to what the body holds. Raises Overloaded."""
        self._budget.add(self, size)

    def close(self) -> None:
        """Remove all that the body holds."""
        if self.size:
            self._budget.remove(self)

    def drop(self) -> None:
        """Remove all that the body holds, and end its request."""
        self.close()
        self._on_drop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spool:
    """The budgets of a process for long bodies, which are received into files."""

    bytes: BodyBudget
    bodies: BodyBudget = field(default_factory=lambda: BodyBudget(_SPOOLED_BODIES))
