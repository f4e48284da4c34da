"""The numbers of this process: in memory, or, once it has a role, in files that every process can read.

A number is eight bytes of shared memory: counting is one write to it, a kill loses no counts, and readers
need no reply from the process.
"""

import logging
import os
import threading
import time
from functools import cache
from pathlib import Path

from kebab.observability.metrics.files import N_SLOTS, Family, ProcessFiles
from kebab.runtime.role import set_role

logger = logging.getLogger(__name__)

# Delay before files are tried again, as after a full disk.
_RETRY_S = 30.0

Values = tuple[str, ...]
#: A series of this process: its family, its label values, and its first slot.
OwnSeries = tuple[Family, Values, int]


class Store:
    """Numbers by series. Threads may share it; a forked child starts with an empty one, in memory."""

    def __init__(self) -> None:
        self._clear()

    def add(self, family: Family, values: Values, amount: float) -> None:
        """Add to a series of one number."""
        with self._lock:
            slot = self._find_slot(family, values)
            if slot is not None:
                self._numbers[slot] += amount

    def set(self, family: Family, values: Values, amount: float) -> None:
        """Set a series of one number."""
        with self._lock:
            slot = self._find_slot(family, values)
            if slot is not None:
                self._numbers[slot] = amount

    def observe(self, family: Family, values: Values, bucket: int, amount: float) -> None:
        """Count into a bucket of a histogram, and add to its sum."""
        with self._lock:
            slot = self._find_slot(family, values)
            if slot is not None:
                self._numbers[slot + bucket] += 1.0
                self._numbers[slot + family.n_slots - 1] += amount

    def initialise(self, family: Family, values: Values) -> None:
        """Create the series with 0, in this process and its forked children."""
        self._zeros.append((family, values))
        with self._lock:
            self._find_slot(family, values)

    def publish(self, folder: Path, role: str) -> None:
        """Store the numbers in files in `folder` from now on, or in memory while that fails."""
        with self._lock:
            self._target: tuple[Path, str] | None = (folder, role)
            self._retry_at = 0.0
            self._publish_if_due()

    def memory_snapshot(self) -> tuple[list[OwnSeries], list[float]] | None:
        """Return the series and the numbers; None when they are in files."""
        with self._lock:
            self._publish_if_due()
            return None if self._files else (list(self._series), list(self._numbers[: self._used]))

    def reset(self) -> None:
        """Start with an empty store, as a forked child has to: the files are its parent's."""
        files, zeros = self._files, self._zeros
        self._clear()
        if files is not None:
            files.close()
        for family, values in zeros:
            self.initialise(family, values)

    def _clear(self) -> None:
        self._lock = threading.Lock()
        # By name, as a family is slow to hash.
        self._slots: dict[tuple[str, Values], int] = {}
        self._series: list[OwnSeries] = []
        self._zeros: list[tuple[Family, Values]] = []
        self._numbers = memoryview(bytearray(8 * N_SLOTS)).cast("d")
        self._used = 0
        self._files: ProcessFiles | None = None
        self._target = None
        self._retry_at = 0.0

    def _find_slot(self, family: Family, values: Values) -> int | None:
        found = self._slots.get((family.name, values))
        return self._allocate(family, values) if found is None else found

    def _allocate(self, family: Family, values: Values) -> int | None:
        """Allocate the slots of a new series; None when there are no more: then it isn't counted."""
        self._publish_if_due()
        if self._used + family.n_slots > N_SLOTS:
            return None
        slot = self._used
        if self._files is not None and not self._files.append_series(family, values, slot):
            return None
        self._slots[family.name, values] = slot
        self._series.append((family, values, slot))
        self._used += family.n_slots
        return slot

    def _publish_if_due(self) -> None:
        if self._target is None or self._files is not None or time.monotonic() < self._retry_at:
            return
        folder, role = self._target
        try:
            files = ProcessFiles.create(folder, role)
        except OSError as error:
            self._retry_at = time.monotonic() + _RETRY_S
            logger.warning("metrics of this process are read by nobody else: %s", error)
            return
        for series in self._series:
            files.append_series(*series)
        files.numbers[: self._used] = self._numbers[: self._used]
        self._numbers, self._files = files.numbers, files


@cache
def process_store() -> Store:
    """Return this process's store."""
    store = Store()
    os.register_at_fork(after_in_child=store.reset)
    return store


def begin_process(role: str) -> None:
    """Set the process's role, and publish its metrics to the node's other processes."""
    from kebab.observability.metrics.files import (
        metrics_folder,  # settings are there once a process has a role
    )

    set_role(role)
    process_store().publish(metrics_folder(), role)
