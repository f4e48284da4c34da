"""The numbers of this process: in memory, and once it has a role in files that every process can read.

A number is eight bytes of shared memory: counting is one write to it, a kill loses nothing that was counted,
and nobody is asked when they are read.
"""

import logging
import os
import threading
import time
from functools import cache
from pathlib import Path

from kebab.observability.metrics.files import N_SLOTS, OwnFiles
from kebab.observability.metrics.metric import Family
from kebab.runtime.role import take_role

logger = logging.getLogger(__name__)

# After a folder that took no files, as on a full disk.
_RETRY_S = 30.0

Values = tuple[str, ...]
#: A series of this process: whose, under which values of its labels, and its first slot.
OwnSeries = tuple[Family, Values, int]


class Store:
    """Numbers by series. Threads may share it; a child that is forked begins anew, in memory."""

    def __init__(self) -> None:
        self._empty()

    def add(self, family: Family, values: Values, amount: float) -> None:
        """Add to a series of one number."""
        with self._lock:
            slot = self._slot(family, values)
            if slot is not None:
                self._numbers[slot] += amount

    def set(self, family: Family, values: Values, amount: float) -> None:
        """Set a series of one number."""
        with self._lock:
            slot = self._slot(family, values)
            if slot is not None:
                self._numbers[slot] = amount

    def observe(self, family: Family, values: Values, bucket: int, amount: float) -> None:
        """Count into a bucket of a histogram, and add to its sum."""
        with self._lock:
            slot = self._slot(family, values)
            if slot is not None:
                self._numbers[slot + bucket] += 1.0
                self._numbers[slot + family.n_slots - 1] += amount

    def begin_at_zero(self, family: Family, values: Values) -> None:
        """Have the series there before anything is counted, in this process and its children."""
        self._zeros.append((family, values))
        with self._lock:
            self._slot(family, values)

    def publish(self, folder: Path, role: str) -> None:
        """Keep the numbers in files in `folder` from now on; in memory while it takes none."""
        with self._lock:
            self._wanted = (folder, role)
            self._retry_at = 0.0
            self._publish_if_due()

    def in_memory(self) -> tuple[list[OwnSeries], list[float]] | None:
        """Return the series and the numbers; None when files have them."""
        with self._lock:
            self._publish_if_due()
            return None if self._files else (list(self._series), list(self._numbers[: self._used]))

    def forget(self) -> None:
        """Begin anew, as a forked child has to: the files are its parent's."""
        files, zeros = self._files, self._zeros
        self._empty()
        if files is not None:
            files.let_go()
        for family, values in zeros:
            self.begin_at_zero(family, values)

    def _empty(self) -> None:
        self._lock = threading.Lock()
        # By name: a family takes long to hash.
        self._slots: dict[tuple[str, Values], int] = {}
        self._series: list[OwnSeries] = []
        self._zeros: list[tuple[Family, Values]] = []
        self._numbers = memoryview(bytearray(8 * N_SLOTS)).cast("d")
        self._used = 0
        self._files: OwnFiles | None = None
        self._wanted: tuple[Path, str] | None = None
        self._retry_at = 0.0

    def _slot(self, family: Family, values: Values) -> int | None:
        found = self._slots.get((family.name, values))
        return self._allot(family, values) if found is None else found

    def _allot(self, family: Family, values: Values) -> int | None:
        """Return a new series its slots; None when there are no more: then it isn't counted."""
        self._publish_if_due()
        if self._used + family.n_slots > N_SLOTS:
            return None
        slot = self._used
        if self._files is not None and not self._files.name_series(family, values, slot):
            return None
        self._slots[family.name, values] = slot
        self._series.append((family, values, slot))
        self._used += family.n_slots
        return slot

    def _publish_if_due(self) -> None:
        if self._wanted is None or self._files is not None or time.monotonic() < self._retry_at:
            return
        folder, role = self._wanted
        try:
            files = OwnFiles.make(folder, role)
        except OSError as error:
            self._retry_at = time.monotonic() + _RETRY_S
            logger.warning("metrics of this process are read by nobody else: %s", error)
            return
        for series in self._series:
            files.name_series(*series)
        files.numbers[: self._used] = self._numbers[: self._used]
        self._numbers, self._files = files.numbers, files


@cache
def own_store() -> Store:
    """Return this process's numbers."""
    store = Store()
    os.register_at_fork(after_in_child=store.forget)
    return store


def begin(role: str) -> None:
    """Be known by `role`, and let the node's other processes read what this one counts."""
    from kebab.observability.metrics.files import (
        metrics_folder,  # settings are there once a process has a role
    )

    take_role(role)
    own_store().publish(metrics_folder(), role)
