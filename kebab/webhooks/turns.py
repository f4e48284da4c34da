"""The turns of endpoints: one delivery each, shared fairly between workspaces."""

import threading
import uuid
from collections import Counter, deque
from collections.abc import Iterable
from typing import NamedTuple


class DueEndpoint(NamedTuple):
    """An endpoint with an event that is due."""

    workspace_id: uuid.UUID
    endpoint_id: uuid.UUID


class Turns:
    """The waiting endpoints, workspace after workspace; threads share it.

    A workspace begins a turn while it has fewer under way than senders are idle, so that one alone occupies
    half of them, two a third each, and one that has none under way needs a single idle sender: the dynamic
    threshold of Choudhury and Hahne (Dynamic queue length thresholds in a shared memory ATM switch, 1996).
    """

    def __init__(self, due: Iterable[DueEndpoint], *, senders: int) -> None:
        self._senders = senders
        self._lock = threading.Lock()
        self._under_way: Counter[uuid.UUID] = Counter()
        self._waiting: dict[uuid.UUID, deque[DueEndpoint]] = {}
        for each in due:
            self._waiting.setdefault(each.workspace_id, deque()).append(each)

    def begin(self) -> DueEndpoint | None:
        """Return the endpoint whose turn begins; None if none may begin now."""
        with self._lock:
            idle = self._senders - self._under_way.total()
            for workspace_id, waiting in self._waiting.items():
                if waiting and self._under_way[workspace_id] < idle:
                    self._under_way[workspace_id] += 1
                    self._waiting[workspace_id] = self._waiting.pop(workspace_id)  # the others go first
                    return waiting.popleft()
            return None

    def end(self, turn: DueEndpoint, *, has_more: bool) -> None:
        """End a turn; an endpoint that may have more events waits for its next."""
        with self._lock:
            self._under_way[turn.workspace_id] -= 1
            if has_more:
                self._waiting[turn.workspace_id].append(turn)
