"""The scrape of all metrics, answered within two seconds even if a store hangs.

Each probe has a thread of its own, and no connection of the pool: it works while all of the process's threads
and connections wait for the store, and a store that hangs holds that one thread.
"""

import errno
import logging
import os
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, cast

import psutil
import psycopg
import redis
from django.conf import settings
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import connection, connections, transaction
from psycopg import sql

import kebab
from kebab.health.pending_migrations import find_missing_in
from kebab.observability.metrics.aggregate import LivingProcess, ProcessReader, write_memory_series
from kebab.observability.metrics.collectors import WORKSPACE, CollectorRunner, declare_gauge
from kebab.observability.metrics.exposition import Page
from kebab.observability.metrics.files import (
    Family,
    declare,
    declared_families,
    metrics_folder,
    pid_namespace,
)
from kebab.observability.metrics.requests import update_pool_gauges
from kebab.observability.metrics.store import process_store
from kebab.runtime import draining
from kebab.runtime.role import own_role
from kebab.stack.paths import DataDirectory
from kebab.stack.servers.postgres_requirements import is_read_only
from kebab.stack.servers.redis_client import quick_redis
from kebab.stack.servers.replication import is_replicated, read_replication
from kebab.stack.storage.blob_mark import has_known_mark
from kebab.stack.supervisor.state import running_state
from kebab.tenancy.current_workspace import acting_everywhere
from kebab.tenancy.postgres.base import DatabaseWrapper
from kebab.tenancy.postgres.pool import connect

logger = logging.getLogger(__name__)

LIMIT_S = 0.8
# Of one probe, which may go on after the limit; the next call gets its result.
_CONNECT_LIMIT_S = 2
# A result is reused for this long.
_STORES_FRESH_S = 0.5
# The mark may be in a bucket, which charges for each request.
_BLOBS_FRESH_S = 10.0
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
        self,
        name: str,
        probe: Callable[[], dict[str, StoreStatus]],
        unanswered: dict[str, StoreStatus],
        *,
        fresh_s: float = _STORES_FRESH_S,
    ) -> None:
        self.name = name
        self._fresh_s = fresh_s
        self._probe = probe
        self._unanswered = ProbeResult(statuses=unanswered)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"look-{name}")
        self._under_way: Future[ProbeResult] | None = None
        self._started_at = 0.0
        self._lock = threading.Lock()

    def start(self) -> "Future[ProbeResult]":
        """Start the probe, unless one is running or has just ended; return its future."""
        with self._lock:
            is_fresh = time.monotonic() - self._started_at < self._fresh_s
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
    """Return the results of all probes within the limit, by store: postgres, redis, mirrors, blobs."""
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
        StoreProbe("blobs", _probe_blobs, {"blobs": degraded}, fresh_s=_BLOBS_FRESH_S),
    )


@contextmanager
def _connected() -> Iterator[psycopg.Connection]:
    """Connect outside the pool that requests wait for; if there is a standby, to where they connect."""
    if "STANDBY" not in settings.DATABASES["default"]:
        with connect(settings.DATABASES["default"], connect_timeout=_CONNECT_LIMIT_S) as connection:
            yield connection
        return
    wrapper = cast(DatabaseWrapper, connections["default"])
    pooled = wrapper.get_new_connection(wrapper.get_connection_params())
    try:
        yield pooled
    finally:
        pooled._pool.putconn(pooled)


def _probe_postgres() -> dict[str, StoreStatus]:
    """Check for this code's migrations."""
    with _connected() as connection:
        migrations = StoreStatus.FAILED if find_missing_in(connection) else StoreStatus.OK
        found = {"postgres": StoreStatus.OK, "migrations": migrations}
        if is_read_only(connection):
            found["writes"] = StoreStatus.DEGRADED
        elif is_replicated():
            is_safe = read_replication(connection).waits_for_standby
            found["synchronous_standby"] = StoreStatus.OK if is_safe else StoreStatus.DEGRADED
    return found


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


def _probe_blobs() -> dict[str, StoreStatus]:
    """Compare the mark of the blobs with the database's: uploads to other blobs would be lost."""
    with _connected() as connection:
        row = connection.execute("SELECT mark FROM stack_blobstore").fetchone()
    return {
        "blobs": StoreStatus.OK if has_known_mark(None if row is None else row[0]) else StoreStatus.FAILED
    }


def fetch_rows(
    statement: str | sql.Composable, values: Sequence[Any] | Mapping[str, Any] = ()
) -> list[tuple[Any, ...]]:
    """Run a statement without a time limit, and return its rows; none if it returns none."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


_BY_PROCESS = ("role", "pid")
_CPU = declare(
    Family(name="process_cpu_seconds_total", help="CPU time in seconds.", kind="counter", labels=_BY_PROCESS)
)
_MEMORY = declare_gauge("process_resident_memory_bytes", "Resident memory size in bytes.", *_BY_PROCESS)
_FILES = declare_gauge("process_open_fds", "Number of open file descriptors.", *_BY_PROCESS)
_THREADS = declare_gauge("process_threads", "Number of threads.", *_BY_PROCESS)
_STARTED = declare_gauge("process_start_time_seconds", "Start time as Unix time in seconds.", *_BY_PROCESS)


def write_processes(page: Page, counting: Iterable[LivingProcess]) -> None:
    """Add the given processes of our own pid namespace, and the stack's servers, to the page."""
    own = pid_namespace()
    roles = {process.pid: process.role for process in counting if process.pids == own}
    for pid, role in {**_servers(), **roles}.items():
        _add_process(page, role, pid)


def _servers() -> dict[int, str]:
    """Return the pids of the supervisor and the embedded servers, which have no metrics files, with roles."""
    state = running_state(settings.KEBAB_DATA_DIR)
    if state is None:
        return {}
    servers = {each.mark.pid: each.name for each in state.processes if each.name in {"postgres", "redis"}}
    return {state.supervisor.pid: "supervisor", **servers}


def _add_process(page: Page, role: str, pid: int) -> None:
    labels = (role, str(pid))
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            times = process.cpu_times()
            page.add_sample(_CPU, labels, times.user + times.system)
            page.add_sample(_MEMORY, labels, process.memory_info().rss)
            page.add_sample(_THREADS, labels, process.num_threads())
            page.add_sample(_STARTED, labels, process.create_time())
        page.add_sample(_FILES, labels, process.num_fds())
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return


# A repeated scrape within this time gets the cached text, as the address may be open to everybody.
_FRESH_S = 1.0
_COLLECTORS_LIMIT_S = 0.4

_BUILD = declare_gauge("kebab_build_info", "Constant 1, labelled with version and node.", "version", "node")
_UP = declare_gauge("kebab_store_up", "1 if a store answered within 0.8 seconds, otherwise 0.", "store")
_PING = declare_gauge("kebab_store_answer_seconds", "Response time of a store, in seconds.", "store")
_FREE = declare_gauge("kebab_disk_free_bytes", "Free space on the disk of a folder, in bytes.", "folder")
_DRAINING = declare_gauge("kebab_draining", "1 if the responding web process is about to stop, otherwise 0.")
_TOOK = declare_gauge("kebab_scrape_seconds", "Duration of this scrape, in seconds.")


class Scraper:
    """The renderer of all metrics in one process; threads may share it."""

    def __init__(self, folder: Path) -> None:
        self._processes = ProcessReader(folder)
        self._collector_runner = CollectorRunner(_collector_context)
        self._lock = threading.Lock()
        self._cache: dict[bool, tuple[float, bytes]] = {}

    def text(self, *, is_operator: bool) -> bytes:
        """Return all metrics; per-workspace series only for operators."""
        with self._lock:
            at, text = self._cache.get(is_operator, (float("-inf"), b""))
            if time.monotonic() - at > _FRESH_S:
                text = self._render(is_operator)
                self._cache[is_operator] = time.monotonic(), text
            return text

    def _render(self, is_operator: bool) -> bytes:
        began = time.perf_counter()
        page = Page(_visible_families(is_operator))
        update_pool_gauges()
        probe_results = probe_stores()
        _write_stores(page, probe_results)
        self._collector_runner.write(
            page,
            is_up=lambda store: _is_up(probe_results, store),
            limit_s=_COLLECTORS_LIMIT_S,
            is_operator=is_operator,
        )
        write_processes(page, [*self._processes.write(page), *_write_memory(page)])
        _write_disks(page)
        page.add_sample(_BUILD, (kebab.__version__, settings.KEBAB_NODE_ID), 1)
        page.add_sample(_DRAINING, (), draining.is_draining())
        page.add_sample(_TOOK, (), round(time.perf_counter() - began, 6))
        return page.text()


@cache
def scraper() -> Scraper:
    """Return this process's scraper."""
    return Scraper(metrics_folder())


def _visible_families(is_operator: bool) -> list[Family]:
    return [
        family for family in declared_families().values() if is_operator or WORKSPACE not in family.labels
    ]


@contextmanager
def _collector_context() -> Iterator[None]:
    try:
        with acting_everywhere():
            yield
    finally:
        connection.close()


def _is_up(probe_results: Mapping[str, ProbeResult], store: str) -> bool:
    probe_result = probe_results.get(store)
    return probe_result is None or probe_result.took_s is not None


def _write_stores(page: Page, probe_results: Mapping[str, ProbeResult]) -> None:
    for store, probe_result in probe_results.items():
        is_up = probe_result.took_s is not None and probe_result.statuses[store] is not StoreStatus.FAILED
        page.add_sample(_UP, (store,), is_up)
        if probe_result.took_s is not None:
            page.add_sample(_PING, (store,), probe_result.took_s)


def _write_memory(page: Page) -> list[LivingProcess]:
    """Add this process's series to the page while they are not in a file."""
    own = process_store().memory_snapshot()
    if own is None:
        return []
    write_memory_series(page, own_role(), os.getpid(), *own)
    return [LivingProcess(role=own_role(), pid=os.getpid(), pids=pid_namespace())]


def _write_disks(page: Page) -> None:
    directory = DataDirectory(settings.KEBAB_DATA_DIR)
    folders = {"data": directory.path, "mirrors": Path(settings.KEBAB_MIRROR_DIR)}
    if isinstance(default_storage, FileSystemStorage):
        folders["blobs"] = Path(default_storage.location)
    for name, folder in folders.items():
        try:
            page.add_sample(_FREE, (name,), shutil.disk_usage(folder).free)
        except OSError:
            continue
