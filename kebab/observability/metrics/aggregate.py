"""Aggregation of the series of all living processes, labelled with role and pid."""

import json
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kebab.observability.metrics.exposition import LINES, Page, sample_names, write_series
from kebab.observability.metrics.files import Family, delete_dead_files, live_key_files


@dataclass(frozen=True, slots=True, kw_only=True)
class LivingProcess:
    """A living process with metrics."""

    role: str
    pid: int
    #: The pid's namespace.
    pids: str


@dataclass(slots=True)
class _Reader:
    """The reader of one process's key file, which only grows."""

    keys: Path
    process: LivingProcess = LivingProcess(role="", pid=0, pids="")
    offset: int = 0
    families: list[Family] = field(default_factory=list)
    #: For each series its family, its first slot, and the names of its samples with their labels.
    series: list[tuple[Family, int, Sequence[str]]] = field(default_factory=list)

    def catch_up(self) -> None:
        """Read the lines that were appended since the last call. Raises FileNotFoundError."""
        with self.keys.open("rb") as lines:
            lines.seek(self.offset)
            whole, found, _ = lines.read().rpartition(b"\n")
        self.offset += len(whole) + len(found)
        for line in whole.splitlines():
            self._apply(*json.loads(line))

    def _apply(self, kind: str, *arguments: Any) -> None:
        match kind, arguments:
            case "process", (facts,):
                self.process = LivingProcess(**facts)
            case "family", (facts,):
                labels, bounds = tuple(facts.pop("labels")), tuple(facts.pop("bounds"))
                self.families.append(Family(**facts, labels=labels, bounds=bounds))
            case "series", (number, slot, values):
                family = self.families[number]
                own = {"role": self.process.role, "pid": str(self.process.pid)}
                names = sample_names(family, dict(zip(family.labels, values, strict=True)) | own)
                self.series.append((family, slot, names))

    def numbers(self, name: str) -> Iterator[float]:
        """Return the first number of each series of a family. Raises FileNotFoundError."""
        numbers = array("d", self.keys.with_suffix(".values").read_bytes())
        return (numbers[slot] for family, slot, _ in self.series if family.name == name)

    def write(self, page: Page) -> None:
        """Add all series to the page. Raises FileNotFoundError."""
        numbers = array("d", self.keys.with_suffix(".values").read_bytes())
        by_family: dict[str, LINES] = defaultdict(list)
        for family, slot, names in self.series:
            write_series(family, names, numbers[slot : slot + family.n_slots], by_family[family.name])
        for family in self.families:
            page.add(family, by_family[family.name])


class ProcessReader:
    """A reader of the metrics files in a folder, which can be read repeatedly."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._readers: dict[Path, _Reader] = {}

    def write(self, page: Page) -> list[LivingProcess]:
        """Add the series of all living processes to the page, and return the processes."""
        return [reader.process for reader in self._live_readers() if _write_if_alive(reader, page)]

    def max_values(self, name: str) -> dict[int, float]:
        """Return the greatest number of a gauge's or counter's series, by the pid of each living process."""
        found = {}
        for reader in self._live_readers():
            with suppress(FileNotFoundError):  # it has ended this moment
                reader.catch_up()
                found[reader.process.pid] = max(reader.numbers(name), default=0.0)
        return found

    def _live_readers(self) -> list[_Reader]:
        delete_dead_files(self._folder)
        self._readers = {
            keys: self._readers.get(keys) or _Reader(keys) for keys in live_key_files(self._folder)
        }
        return list(self._readers.values())


def _write_if_alive(reader: _Reader, page: Page) -> bool:
    try:
        reader.catch_up()
        reader.write(page)
    except FileNotFoundError:  # it has ended this moment
        return False
    return True


def write_memory_series(
    page: Page,
    role: str,
    pid: int,
    series: Iterable[tuple[Family, tuple[str, ...], int]],
    numbers: list[float],
) -> None:
    """Add the series of a process that counts in memory to the page."""
    for family, values, slot in series:
        labels = dict(zip(family.labels, values, strict=True)) | {"role": role, "pid": str(pid)}
        lines: LINES = []
        write_series(family, sample_names(family, labels), numbers[slot : slot + family.n_slots], lines)
        page.add(family, lines)
