"""A watchdog for stuck workers, which have work but start none: Celery's connection to Redis may hang."""

import logging
import os
import queue
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Final

import redis
from django.conf import settings
from django.db import Error, connection
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from kebab.exit_codes import Exit
from kebab.stack.configuration import StackConfiguration
from kebab.stack.models import ProcessRole, StackProcess
from kebab.stack.nodes.registry import FRESH_S, Activity, living_processes
from kebab.stack.servers.addresses import redis_client_url

logger = logging.getLogger(__name__)

_PERIOD_S = 10.0
#: Checks in a row, over more time than passes between two heartbeats.
_CHECKS = 3
_STUCK_AFTER = timedelta(seconds=60)
_ANSWER_LIMIT_S = 5


class Watchdog:
    """Checks every ten seconds, in a thread: a database that hangs must not block the supervisor."""

    def __init__(self, configuration: StackConfiguration) -> None:
        self._configuration = configuration
        self._stuck: queue.SimpleQueue[int] = queue.SimpleQueue()
        # How often in a row each worker seemed stuck.
        self._suspected: Counter[int] = Counter()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        """Start the checks."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the checks, without waiting for a running one."""
        self._ended.set()

    def take_stuck(self) -> set[int]:
        """Return the pids of workers found stuck since the last call."""
        found = set()
        while not self._stuck.empty():
            found.add(self._stuck.get_nowait())
        return found

    def _run(self) -> None:
        while not self._ended.wait(_PERIOD_S):
            try:
                self._judge(stuck_workers(self._configuration.node_id, self._configuration.redis_url))
            except (Error, redis.RedisError) as error:
                logger.warning("The workers cannot be watched at the moment: %s", error)
            finally:
                connection.close()

    def _judge(self, suspects: Iterable[int]) -> None:
        """Report the workers that seem stuck again and again.

        A row is up to a heartbeat old: a worker that has just begun still seems idle beside a full queue.
        """
        self._suspected = Counter({pid: self._suspected[pid] + 1 for pid in suspects})
        for pid, times in self._suspected.items():
            if times >= _CHECKS:
                self._stuck.put(pid)


def stuck_workers(node_id: str, redis_url: str) -> list[int]:
    """Return the pids of this node's workers that have work in Redis and started none for sixty seconds."""
    return [worker.pid for worker in _find_stuck(StackProcess.objects.filter(node=node_id), redis_url)]


def is_stuck(process_id: uuid.UUID, redis_url: str) -> bool:
    """Return whether the process of this row is a stuck worker."""
    return bool(_find_stuck(StackProcess.objects.filter(pk=process_id), redis_url))


def _find_stuck(processes: QuerySet[StackProcess], redis_url: str) -> list[StackProcess]:
    since = Now() - _STUCK_AFTER
    idle = processes.filter(
        Q(last_started_at__lt=since) | Q(last_started_at=None),
        role=ProcessRole.WORKER,
        busy=0,
        started_at__lt=since,
    )
    workers = list(idle)
    if not workers:
        return []
    lengths = queue_lengths(redis_url, {name for worker in workers for name in worker.queues})
    return [worker for worker in workers if any(lengths[name] for name in worker.queues)]


def queue_lengths(redis_url: str, names: Iterable[str]) -> dict[str, int]:
    """Return the number of waiting messages in each Celery queue, by name.

    Raises:
        redis.RedisError: Redis does not answer within five seconds.
    """
    with redis.Redis.from_url(redis_client_url(redis_url), socket_timeout=_ANSWER_LIMIT_S) as client:
        return {name: int(client.llen(name)) for name in sorted(names)}


def find_complaint(node_id: str, name: str, redis_url: str) -> str:
    """Return the problem of the node's youngest process of that name; "" if it has none or is still starting.

    Raises:
        Error: Postgres doesn't answer.
        RedisError: Redis doesn't, and a worker seems idle.
    """
    rows = StackProcess.objects.filter(node=node_id, name=name)
    youngest = rows.order_by("-started_at").first()
    if youngest is None:
        return ""
    if not living_processes().filter(pk=youngest.pk).exists():
        return f"{name} on {node_id} has given no sign of life for {FRESH_S:.0f} s"
    if youngest.pid in stuck_workers(node_id, redis_url):
        return f"{name} on {node_id} has work and does none"
    return ""


# Ten seconds apart: a worker whose machine was suspended for minutes has started a task by then.
_IN_A_ROW: Final = 3


class SelfWatchdog:
    """Checks after each heartbeat whether this worker is stuck; after three times in a row it ends.

    The count restarts if Postgres or Redis could not be queried, or if a task runs after all.
    """

    def __init__(self, activity: Callable[[], Activity], *, end: Callable[[], None] | None = None) -> None:
        self._activity = activity
        self._end = _exit_process if end is None else end
        self._stuck_count = 0

    def check(self, process_id: uuid.UUID, was_cut_off: bool) -> None:
        """Check once, after a heartbeat; `was_cut_off` if the previous heartbeat failed.

        Raises Error when Postgres doesn't answer.
        """
        stuck_count, self._stuck_count = self._stuck_count, 0
        if was_cut_off or not self._is_stuck(process_id):
            return
        self._stuck_count = stuck_count + 1
        if self._stuck_count == _IN_A_ROW:
            StackProcess.objects.filter(pk=process_id).delete()
            self._end()

    def _is_stuck(self, process_id: uuid.UUID) -> bool:
        try:
            return is_stuck(process_id, settings.REDIS_URL) and not self._activity().busy
        except redis.RedisError as error:
            logger.warning("Whether this worker is stuck cannot be said at the moment: %s", error)
            return False


def _exit_process() -> None:
    """Exit at once, as the main thread may hang; the children are idle and end with the process."""
    logger.critical("This worker has work and does none: it ends, for whoever supervises it to start another")
    os._exit(Exit.UNHEALTHY)
