"""All that there is to measure, put together whenever somebody asks, within two seconds whatever hangs."""

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
from kebab.observability.health.stores import Finding, Standing, look_at_all
from kebab.observability.metrics.aggregate import LivingProcess, ProcessReader, write_own
from kebab.observability.metrics.collectors import WORKSPACE, Asker, gauge
from kebab.observability.metrics.exposition import Page
from kebab.observability.metrics.files import metrics_folder, pid_namespace
from kebab.observability.metrics.metric import Family, declared
from kebab.observability.metrics.processes import write_processes
from kebab.observability.metrics.requests import note_pool
from kebab.observability.metrics.store import own_store
from kebab.runtime import draining
from kebab.runtime.role import own_role
from kebab.stack.paths import DataDirectory
from kebab.tenancy.current_workspace import acting_everywhere

# Who asks again this soon gets what was given before: the address is open to everybody.
_FRESH_S = 1.0
_QUESTIONS_LIMIT_S = 0.4

_BUILD = gauge("kebab_build_info", "1; what runs here.", "version", "node")
_UP = gauge("kebab_store_up", "Whether a store answers in time: within 0.8 s.", "store")
_PING = gauge("kebab_store_answer_seconds", "How long a store took to answer.", "store")
_FREE = gauge("kebab_disk_free_bytes", "Room on the disk of a folder.", "folder")
_DRAINING = gauge("kebab_draining", "Whether the web process that answers is about to stop.")
_TOOK = gauge("kebab_scrape_seconds", "How long this answer took to put together.")


class Scraper:
    """Puts metrics together for one process; threads may share it."""

    def __init__(self, folder: Path) -> None:
        self._processes = ProcessReader(folder)
        self._asker = Asker(_asking)
        self._lock = threading.Lock()
        self._given: dict[bool, tuple[float, bytes]] = {}

    def text(self, *, is_operator: bool) -> bytes:
        """Return all metrics; those of single workspaces to operators alone."""
        with self._lock:
            at, text = self._given.get(is_operator, (float("-inf"), b""))
            if time.monotonic() - at > _FRESH_S:
                text = self._put_together(is_operator)
                self._given[is_operator] = time.monotonic(), text
            return text

    def _put_together(self, is_operator: bool) -> bytes:
        began = time.perf_counter()
        page = Page(_shown(is_operator))
        note_pool()
        findings = look_at_all()
        _write_stores(page, findings)
        self._asker.write(
            page,
            is_up=lambda store: _is_up(findings, store),
            limit_s=_QUESTIONS_LIMIT_S,
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
    """Return this process's."""
    return Scraper(metrics_folder())


def _shown(is_operator: bool) -> list[Family]:
    return [family for family in declared().values() if is_operator or WORKSPACE not in family.labels]


@contextmanager
def _asking() -> Iterator[None]:
    try:
        with acting_everywhere():
            yield
    finally:
        connection.close()


def _is_up(findings: Mapping[str, Finding], store: str) -> bool:
    finding = findings.get(store)
    return finding is None or finding.took_s is not None


def _write_stores(page: Page, findings: Mapping[str, Finding]) -> None:
    for store, finding in findings.items():
        is_up = finding.took_s is not None and finding.standings[store] is not Standing.FAILED
        page.add_sample(_UP, (store,), is_up)
        if finding.took_s is not None:
            page.add_sample(_PING, (store,), finding.took_s)


def _write_memory(page: Page) -> list[LivingProcess]:
    """Put on the page what this process counts, while it can't do that in a file."""
    own = own_store().in_memory()
    if own is None:
        return []
    write_own(page, own_role(), os.getpid(), *own)
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
