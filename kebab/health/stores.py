"""Probes of Postgres, Redis and the mirrors' folder, answered within 0.8 s even if a store hangs.

Each probe has a thread of its own, and no connection of the pool: it works while all of the process's threads
and connections wait for the store, and a store that hangs holds that one thread.
"""

import errno
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

import psycopg
import redis
from django.conf import settings

from kebab.health.pending_migrations import find_missing_in
from kebab.stack.servers.redis_client import quick_redis
from kebab.tenancy.postgres.direct import connect

logger = logging.getLogger(__name__)

LIMIT_S = 0.8
# Of one probe, which may go on after the limit; the next call gets its result.
_CONNECT_LIMIT_S = 2
# A result is reused for this long.
_FRESH_S = 0.5
_FULL = {errno.ENOSPC, errno.EDQUOT}


class StoreStatus(StrEnum):
    """The status of a store: while one is `degraded`, searches still work."""

    OK = "ok"
    DEGRADED = "degraded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """The result of a probe, and its duration; None if the probe failed or has not ended."""

    statuses: dict[str, StoreStatus]
    took_s: float | None = None


class StoreProbe:
    """A probe of one store, in a thread of its own; `unanswered` are the statuses while it doesn't answer."""

    def __init__(
        self, name: str, probe: Callable[[], dict[str, StoreStatus]], unanswered: dict[str, StoreStatus]
    ) -> None:
        self.name = name
        self._probe = probe
        self._unanswered = ProbeResult(statuses=unanswered)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"look-{name}")
        self._under_way: Future[ProbeResult] | None = None
        self._started_at = 0.0
        self._lock = threading.Lock()

    def start(self) -> "Future[ProbeResult]":
        """Start the probe, unless one is running or has just ended; return its future."""
        with self._lock:
            is_fresh = time.monotonic() - self._started_at < _FRESH_S
            if self._under_way is None or (self._under_way.done() and not is_fresh):
                self._started_at = time.monotonic()
                self._under_way = self._thread.submit(self._run)
            return self._under_way

    def result_of(self, run: "Future[ProbeResult]") -> ProbeResult:
        """Return the result of a run, or that of an unanswered probe while it is not done."""
        return run.result() if run.done() else self._unanswered

    def _run(self) -> ProbeResult:
        began = time.monotonic()
        try:
            return ProbeResult(statuses=self._probe(), took_s=time.monotonic() - began)
        except (psycopg.Error, redis.RedisError, OSError) as error:
            logger.debug("%s: %s", self.name, error)
            return self._unanswered


def probe_stores(limit_s: float = LIMIT_S) -> dict[str, ProbeResult]:
    """Return the results of all probes within the limit, by store: `postgres`, `redis`, `mirrors`."""
    runs = {store_probe: store_probe.start() for store_probe in _probes()}
    wait(runs.values(), limit_s)
    return {store_probe.name: store_probe.result_of(run) for store_probe, run in runs.items()}


@cache
def _probes() -> tuple[StoreProbe, ...]:
    failed, degraded = StoreStatus.FAILED, StoreStatus.DEGRADED
    return (
        StoreProbe("postgres", _probe_postgres, {"postgres": failed, "migrations": failed}),
        StoreProbe("redis", _probe_redis, {"redis": degraded}),
        StoreProbe("mirrors", _probe_mirrors, {"mirrors": failed}),
    )


def _probe_postgres() -> dict[str, StoreStatus]:
    """Connect outside the pool that requests wait for, and check for this code's migrations."""
    with connect(settings.DATABASES["default"], connect_timeout=_CONNECT_LIMIT_S) as connection:
        is_complete = not find_missing_in(connection)
    return {"postgres": StoreStatus.OK, "migrations": StoreStatus.OK if is_complete else StoreStatus.FAILED}


def _probe_redis() -> dict[str, StoreStatus]:
    """Ping Redis. Without it searches and uploads work: the sweep sends hints later."""
    with quick_redis(settings.REDIS_URL, connect_limit_s=LIMIT_S, answer_limit_s=LIMIT_S) as client:
        client.ping()
    return {"redis": StoreStatus.OK}


def _probe_mirrors() -> dict[str, StoreStatus]:
    """Write a file in the mirrors' folder; on a full disk mirrors can be searched, but not updated."""
    folder = Path(settings.KEBAB_MIRROR_DIR)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        trial = folder / f".written-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            trial.write_bytes(b"1")
        finally:
            trial.unlink(missing_ok=True)
    except OSError as error:
        return {"mirrors": StoreStatus.DEGRADED if error.errno in _FULL else StoreStatus.FAILED}
    return {"mirrors": StoreStatus.OK}
