"""Collectors that query Postgres and Redis for metrics, in threads and at limited rates.

Samples are exposed as long as they are fresh. A slow collector runs less often, so that it takes at most a
twentieth of the time; a store that hangs holds one thread, and no reader.
"""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from kebab.contributions import contributions
from kebab.observability.metrics.exposition import Page
from kebab.observability.metrics.files import Family, declare

logger = logging.getLogger(__name__)

#: The label of series that only operators may read.
WORKSPACE = "workspace"
# Samples that are older than this many of their periods are stale.
_FRESH_PERIODS = 4
_SHARE_OF_TIME = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One number of a family."""

    family: Family
    values: tuple[str, ...] = ()
    amount: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Collector:
    """A query of a store, run at most every `interval_s` seconds."""

    store: str
    collect: Callable[[], Iterable[Sample]]
    interval_s: float = 5.0


def declare_gauge(name: str, help: str, *labels: str) -> Family:
    """Declare a gauge whose samples a collector supplies."""
    return declare(Family(name=name, help=help, kind="gauge", labels=labels))


@dataclass(slots=True)
class _LastSamples:
    """The latest samples of a collector."""

    samples: Sequence[Sample] = ()
    at: float = float("-inf")
    period_s: float = 0.0


@dataclass(slots=True)
class _StoreThread:
    """The thread that queries one store."""

    thread: ThreadPoolExecutor
    under_way: "Future[None] | None" = None
    last: dict[str, _LastSamples] = field(default_factory=dict)


class CollectorRunner:
    """A runner of all collectors, with a thread for each store; each round runs inside of `around`."""

    def __init__(self, around: Callable[[], AbstractContextManager[None]]) -> None:
        self._around = around
        self._stores: dict[str, _StoreThread] = {}

    def write(self, page: Page, *, is_up: Callable[[str], bool], limit_s: float, is_operator: bool) -> None:
        """Add the samples that are ready within the limit to the page, except of stores that are down."""
        stores = {collector.store for _, collector in contributions("collectors")}
        rounds = {store: self._start_round(store) for store in stores if is_up(store)}
        wait(rounds.values(), limit_s)
        now = time.monotonic()
        for store in rounds:
            for last in list(self._stores[store].last.values()):
                if now - last.at < _FRESH_PERIODS * last.period_s:
                    _add_samples(page, last.samples, is_operator=is_operator)

    def _start_round(self, store: str) -> "Future[None]":
        store_thread = self._stores.setdefault(
            store, _StoreThread(ThreadPoolExecutor(1, thread_name_prefix=f"ask-{store}"))
        )
        if store_thread.under_way is None or store_thread.under_way.done():
            store_thread.under_way = store_thread.thread.submit(self._collect_due, store, store_thread)
        return store_thread.under_way

    def _collect_due(self, store: str, store_thread: _StoreThread) -> None:
        with self._around():
            for name, collector in contributions("collectors"):
                if collector.store == store:
                    _collect_if_due(name, collector, store_thread.last.setdefault(name, _LastSamples()))


def _collect_if_due(name: str, collector: Collector, last: _LastSamples) -> None:
    began = time.monotonic()
    if began - last.at < last.period_s:
        return
    try:
        samples = tuple(collector.collect())
    except Exception as error:  # noqa: BLE001  # one failing collector must not hide the others
        logger.debug("%s is not answered: %s", name, error)
        return
    now = time.monotonic()
    last.samples, last.at = samples, now
    last.period_s = max(collector.interval_s, _SHARE_OF_TIME * (now - began))


def _add_samples(page: Page, samples: Iterable[Sample], *, is_operator: bool) -> None:
    for sample in samples:
        if is_operator or WORKSPACE not in sample.family.labels:
            page.add_sample(sample.family, sample.values, sample.amount)
