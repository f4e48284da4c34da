"""Gauges sampled every few seconds during the load: memory, connections, WAL, queues."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import psutil
from asgiref.sync import sync_to_async
from django.db import connection, connections

from ingest.models import OPEN_STATES, Job
from kebab.stack.configuration import EMBED_QUEUES, WORKER_QUEUES
from kebab.stack.supervisor.watchdog import queue_lengths
from kebab.tenancy.current_workspace import acting_everywhere
from kebab.tenancy.roles import OWNER
from tests.drills.bench.budgets.machine import family_mb
from tests.support.stack import Stack

PERIOD_S = 5.0
_PROCESSES = ("web", "worker", "embedder", "mirror", "beat", "postgres", "redis")
_WAL_BYTES = "SELECT sum(size) FROM pg_ls_waldir()"
_WAL_WRITTEN = "SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"
_CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"


@dataclass(slots=True, kw_only=True)
class Gauges:
    """Values by name, each with the seconds since the start of the load."""

    began: float = field(default_factory=time.monotonic)
    series: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    async def watch(self, stack: Stack, redis_url: str) -> None:
        """Sample until cancelled."""
        while True:
            found = await sync_to_async(_sample, thread_sensitive=False)(stack, redis_url)
            now_s = round(time.monotonic() - self.began, 1)
            for name, value in found.items():
                self.series.setdefault(name, []).append((now_s, round(value, 2)))
            await asyncio.sleep(PERIOD_S)

    def values(self, name: str, from_s: float, to_s: float) -> Sequence[float]:
        """Return the values of a period."""
        return [value for at_s, value in self.series.get(name, ()) if from_s <= at_s < to_s]


def _sample(stack: Stack, redis_url: str) -> Mapping[str, float]:
    pids = stack.pids()
    memory = {f"{name} MB": sum(family_mb(pids[name])) for name in _PROCESSES if name in pids}
    files = {f"{name} files": _open_files(pids[name]) for name in ("web", "mirror") if name in pids}
    with acting_everywhere(), connections[OWNER].cursor() as cursor:
        database = {
            "connections": float(cursor.execute(_CONNECTIONS).fetchone()[0]),
            "WAL MB": float(cursor.execute(_WAL_BYTES).fetchone()[0]) / 1e6,
            "WAL written MB": float(cursor.execute(_WAL_WRITTEN).fetchone()[0]) / 1e6,
            "open jobs": float(Job.objects.filter(state__in=OPEN_STATES).count()),
        }
    hints = float(sum(queue_lengths(redis_url, (*WORKER_QUEUES, *EMBED_QUEUES)).values()))
    connection.close()
    connections[OWNER].close()
    return {**memory, **files, **database, "hints in Redis": hints}


def _open_files(pid: int) -> float:
    try:
        process = psutil.Process(pid)
        return float(sum(each.num_fds() for each in (process, *process.children(recursive=True))))
    except psutil.NoSuchProcess:
        return 0.0
