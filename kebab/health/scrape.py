"""The scrape of all metrics, answered within two seconds even if a store hangs."""

import os
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from django.conf import settings
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import connection

import kebab
from kebab.health.process_metrics import write_processes
from kebab.health.stores import ProbeResult, StoreStatus, probe_stores
from kebab.observability.metrics.aggregate import LivingProcess, ProcessReader, write_memory_series
from kebab.observability.metrics.collectors import WORKSPACE, CollectorRunner, declare_gauge
from kebab.observability.metrics.exposition import Page
from kebab.observability.metrics.files import Family, declared_families, metrics_folder, pid_namespace
from kebab.observability.metrics.requests import update_pool_gauges
from kebab.observability.metrics.store import process_store
from kebab.runtime import draining
from kebab.runtime.role import own_role
from kebab.stack.paths import DataDirectory
from kebab.tenancy.current_workspace import acting_everywhere

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
