"""Nodes, known only by the heartbeats of their processes, and the thread that writes these."""

import logging
import os
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from types import TracebackType
from typing import Any, Self

import psutil
from django.conf import settings
from django.db import Error, connection
from django.db.models import DurationField, ExpressionWrapper, F, QuerySet
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from kebab.database.connections import close_connections
from kebab.database.transactions import local_transaction
from kebab.errors import Conflict, NotFound
from kebab.stack.models import ProcessRole, StackProcess
from kebab.stack.servers.rights_place import store_rights_place

logger = logging.getLogger(__name__)

PERIOD_S = 10.0
#: A process whose row is older than this is not counted as running.
FRESH_S = 35.0
_EXPIRES_AFTER = timedelta(minutes=10)
# A commit waits for a standby after statement_timeout has ended. One that waits at two beats of a process, so
# for 10 to 20 s, is cancelled, which `kebab.tenancy.postgres.base` refuses.
_CANCEL_WAITS = """
SELECT query_start, CASE WHEN query_start = ANY(%s) THEN pg_cancel_backend(pid) END
FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename = current_user
"""


def living_processes() -> "QuerySet[StackProcess]":
    """Return the processes whose row is fresh."""
    return StackProcess.objects.filter(heartbeat_at__gt=Now() - timedelta(seconds=FRESH_S))


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """The current activity of a process."""

    busy: int = 0
    #: Seconds since the last start of a task; None: there was none.
    idle_s: float | None = None
    info: dict[str, Any] = field(default_factory=dict)


class Heartbeat:
    """A thread that updates the row of this process, and deletes it at the end.

    `activity` is called at every beat, `after_beat` after it, with the row's id and whether the previous beat
    failed. An outage of the database costs one line in the log.
    """

    def __init__(
        self,
        role: ProcessRole,
        *,
        name: str = "",
        slots: int = 1,
        queues: tuple[str, ...] = (),
        activity: Callable[[], Activity] = Activity,
        after_beat: Callable[[uuid.UUID, bool], None] = lambda process_id, was_cut_off: None,
    ) -> None:
        self._id = uuid.uuid4()
        self._identity = {
            "node": settings.KEBAB_NODE_ID,
            "role": role,
            "name": name or str(role),
            "pid": os.getpid(),
            "slots": slots,
            "queues": list(queues),
        }
        self._began_at = time.monotonic()
        self._activity = activity
        self._after_beat = after_beat
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._is_cut_off = False
        # When the commits began that waited for a standby at the last beat.
        self._waiting: list[datetime] = []
        self._guards_forks = False
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the heartbeat."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the heartbeat and delete the row."""
        self._ended.set()
        self._thread.join()

    def guard_forks(self) -> None:
        """Let this process fork only between two beats, when this thread has no open database connection.

        A child that inherited one would use its socket concurrently with us.
        """
        self._guards_forks = True
        os.register_at_fork(
            before=self._lock.acquire,
            after_in_parent=self._lock.release,
            after_in_child=self._lock.release,
        )

    def _run(self) -> None:
        self._run_action(self._delete_dead_rows)
        self._run_action(self._write_row)
        while not self._ended.wait(PERIOD_S):
            self._run_action(self._write_row)
        self._run_action(self._delete_row)

    def _run_action(self, action: Callable[[], None]) -> None:
        with self._lock:
            try:
                action()
                self._is_cut_off = False
            except Error as error:
                if not self._is_cut_off:
                    logger.warning("No sign of life can be written, the database is away: %s", error)
                self._is_cut_off = True
            finally:
                connection.close()
                if self._guards_forks:
                    close_connections()

    def _write_row(self) -> None:
        now = self._activity()
        values = {
            **self._identity,
            "started_at": _time_before_now(time.monotonic() - self._began_at),
            "heartbeat_at": Now(),
            "busy": now.busy,
            "last_started_at": None if now.idle_s is None else _time_before_now(now.idle_s),
            "info": now.info,
        }
        with local_transaction():
            StackProcess.objects.update_or_create(id=self._id, defaults=values)
            StackProcess.objects.filter(heartbeat_at__lt=Now() - _EXPIRES_AFTER).delete()
            with connection.cursor() as cursor:
                cursor.execute(_CANCEL_WAITS, [self._waiting])
                self._waiting = [began_at for began_at, _ in cursor.fetchall()]
        store_rights_place(is_change=False)
        self._after_beat(self._id, self._is_cut_off)

    @local_transaction()
    def _delete_dead_rows(self) -> None:
        rows = StackProcess.objects.filter(node=self._identity["node"])
        role = self._identity["role"]
        dead = [
            row.pk
            for row in rows
            if (row.pid == os.getpid() and row.role == role) or not psutil.pid_exists(row.pid)
        ]
        rows.filter(pk__in=dead).delete()

    @local_transaction()
    def _delete_row(self) -> None:
        StackProcess.objects.filter(pk=self._id).delete()


def _time_before_now(seconds: float) -> CombinedExpression:
    """Return a time by Postgres' clock, as readers compare it with that clock and a node's may be wrong."""
    return Now() - timedelta(seconds=seconds)


def list_nodes() -> list[dict[str, Any]]:
    """Return the nodes, ordered by name; a node disappears with its rows, ten minutes after its end.

    One is alive if any of its processes has a fresh heartbeat; the age is that of the latest.
    """
    rows = processes_with_age().order_by("node", "role")
    return [_node_row(node, list(found)) for node, found in groupby(rows, key=lambda row: row.node)]


def forget_node(node: str) -> int:
    """Delete the process rows of a node that has ended; return their number.

    Raises NotFound, and Conflict while one of its processes is alive.
    """
    known = {row["node"]: row for row in list_nodes()}
    if node not in known:
        raise NotFound(f"There is no node {node!r}; there are: {', '.join(known) or 'none'}.")
    if known[node]["is_alive"]:
        raise Conflict(f"Node {node} is alive; stop its processes first.", code="node_alive")
    return StackProcess.objects.filter(node=node).delete()[0]


def _node_row(node: str, rows: list[StackProcess]) -> dict[str, Any]:
    age_s = min(row.age.total_seconds() for row in rows)
    return {
        "node": node,
        "processes": len(rows),
        "roles": sorted({row.role for row in rows}),
        "is_alive": age_s < FRESH_S,
        "heartbeat_age_s": round(age_s, 1),
    }


def processes_with_age() -> "QuerySet[StackProcess]":
    """Return the processes with the ages of their heartbeats."""
    age = ExpressionWrapper(Now() - F("heartbeat_at"), output_field=DurationField())
    return StackProcess.objects.annotate(age=age)  # type: ignore[no-redef]  # the model declares it
