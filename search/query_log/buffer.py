"""A buffer of noted queries, which a thread empties: bounded, and of no consequence to who notes."""

import logging
import uuid
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from threading import Event, Lock, Thread

from django.db import InterfaceError, OperationalError

from search.models import Door
from search.retrieval.types import Mode

logger = logging.getLogger(__name__)

#: Queries that wait to be written; of more the oldest are dropped.
MOST_WAITING = 10_000
_BATCH = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedQuery:
    """A query that was answered."""

    workspace_id: uuid.UUID
    text: str
    door: Door
    mode: Mode
    hits: int
    #: Chunks that the words match; None where words were not looked for.
    lexical_total: int | None
    took_ms: float
    degraded: tuple[str, ...]
    asked_at: datetime
    #: Whose it is, as an identity; it isn't written.
    caller: str
    #: The same however often it is written.
    query_id: uuid.UUID = field(default_factory=uuid.uuid4)


#: Keeps queries of one workspace. Raises OperationalError and InterfaceError while the database is away.
Keep = Callable[[uuid.UUID, Sequence[NotedQuery]], None]


class QueryLog:
    """Noted queries on their way to the database."""

    def __init__(self, keep: Keep, *, every_s: float, most_waiting: int = MOST_WAITING) -> None:
        self._keep = keep
        self._every_s = every_s
        self._waiting: deque[NotedQuery] = deque(maxlen=most_waiting)
        self._lock = Lock()
        self._writing = Lock()
        self._closing = Event()
        self._thread: Thread | None = None

    @property
    def waiting(self) -> tuple[NotedQuery, ...]:
        """Return what is not written yet, the oldest first."""
        with self._lock:
            return tuple(self._waiting)

    def note(self, query: NotedQuery) -> None:
        """Take a query, to be written later; when there is no room the oldest one goes."""
        with self._lock:
            self._waiting.append(query)
            if self._thread is None:
                self._thread = Thread(target=self._write_again_and_again, name="query-log", daemon=True)
                self._thread.start()

    def write(self) -> None:
        """Write what waits. What the database can't take now waits on; what it never takes is dropped.

        What another thread is writing is written by then, too.
        """
        with self._writing:
            while batch := self._take():
                if not self._are_kept(batch):
                    return

    def close(self) -> None:
        """Write what waits a last time, and end the thread."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
        self.write()

    def _are_kept(self, batch: Sequence[NotedQuery]) -> bool:
        by_workspace = defaultdict(list)
        for query in batch:
            by_workspace[query.workspace_id].append(query)
        while by_workspace:
            workspace_id, queries = next(iter(by_workspace.items()))
            if not self._is_kept(workspace_id, queries):
                self._put_back(list(chain.from_iterable(by_workspace.values())))
                return False
            del by_workspace[workspace_id]
        return True

    def _is_kept(self, workspace_id: uuid.UUID, queries: Sequence[NotedQuery]) -> bool:
        try:
            self._keep(workspace_id, queries)
        except (OperationalError, InterfaceError) as error:
            logger.warning("%s queries wait to be written: %s", len(queries), type(error).__name__)
            return False
        except Exception as error:  # noqa: BLE001 - the thread goes on; what it is about is never logged
            logger.warning("%s queries were not written: %s", len(queries), type(error).__name__)
        return True

    def _take(self) -> list[NotedQuery]:
        with self._lock:
            return [self._waiting.popleft() for _ in range(min(_BATCH, len(self._waiting)))]

    def _put_back(self, queries: Sequence[NotedQuery]) -> None:
        with self._lock:
            room = self._waiting.maxlen - len(self._waiting)  # type: ignore[operator]  # it has a limit
            self._waiting.extendleft(reversed(queries[max(0, len(queries) - room) :]))

    def _write_again_and_again(self) -> None:
        while not self._closing.wait(self._every_s):
            self.write()
