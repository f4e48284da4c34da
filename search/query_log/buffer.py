"""A bounded buffer of logged queries, flushed by a thread; its errors never reach the searches."""

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

#: Limit of buffered queries; beyond it the oldest are dropped.
MAX_PENDING = 10_000
_BATCH = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedQuery:
    """A query that was answered."""

    workspace_id: uuid.UUID
    text: str
    door: Door
    mode: Mode
    #: See `SearchResult.relevant_hits`.
    hits: int
    #: Chunks that match the words; None without a lexical search.
    lexical_total: int | None
    took_ms: float
    degraded: tuple[str, ...]
    asked_at: datetime
    #: Identity of the caller; it isn't stored.
    caller: str
    #: Fixed, so that repeated writes are idempotent.
    query_id: uuid.UUID = field(default_factory=uuid.uuid4)


#: Stores queries of one workspace. Raises OperationalError and InterfaceError while the database is down.
Store = Callable[[uuid.UUID, Sequence[LoggedQuery]], None]


class QueryLog:
    """A buffer of queries on their way to the database."""

    def __init__(self, store: Store, *, every_s: float, max_pending: int = MAX_PENDING) -> None:
        self._store = store
        self._every_s = every_s
        self._max_pending = max_pending
        self._pending: deque[LoggedQuery] = deque(maxlen=max_pending)
        self._lock = Lock()
        self._flush_lock = Lock()
        self._closing = Event()
        self._thread: Thread | None = None

    @property
    def pending(self) -> tuple[LoggedQuery, ...]:
        """Return the queries that are not stored yet, oldest first."""
        with self._lock:
            return tuple(self._pending)

    def add(self, query: LoggedQuery) -> None:
        """Add a query to be stored later; drops the oldest if the buffer is full."""
        with self._lock:
            self._pending.append(query)
            if self._thread is None:
                self._thread = Thread(target=self._flush_periodically, name="query-log", daemon=True)
                self._thread.start()

    def flush(self) -> None:
        """Store the pending queries, and wait for a flush in another thread.

        Queries stay pending while the database is down; those that it refuses are dropped.
        """
        with self._flush_lock:
            while batch := self._take_batch():
                if not self._store_batch(batch):
                    return

    def close(self) -> None:
        """Stop the thread and flush a last time."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
        self.flush()

    def _store_batch(self, batch: Sequence[LoggedQuery]) -> bool:
        by_workspace = defaultdict(list)
        for query in batch:
            by_workspace[query.workspace_id].append(query)
        while by_workspace:
            workspace_id, queries = next(iter(by_workspace.items()))
            if not self._store_queries(workspace_id, queries):
                self._requeue(list(chain.from_iterable(by_workspace.values())))
                return False
            del by_workspace[workspace_id]
        return True

    def _store_queries(self, workspace_id: uuid.UUID, queries: Sequence[LoggedQuery]) -> bool:
        try:
            self._store(workspace_id, queries)
        except (OperationalError, InterfaceError) as error:
            logger.warning("%s queries wait to be written: %s", len(queries), type(error).__name__)
            return False
        except Exception as error:  # noqa: BLE001 - the thread goes on; contents are never logged
            logger.warning("%s queries were not written: %s", len(queries), type(error).__name__)
        return True

    def _take_batch(self) -> list[LoggedQuery]:
        with self._lock:
            return [self._pending.popleft() for _ in range(min(_BATCH, len(self._pending)))]

    def _requeue(self, queries: Sequence[LoggedQuery]) -> None:
        with self._lock:
            room = self._max_pending - len(self._pending)
            self._pending.extendleft(reversed(queries[max(0, len(queries) - room) :]))

    def _flush_periodically(self) -> None:
        while not self._closing.wait(self._every_s):
            self.flush()
