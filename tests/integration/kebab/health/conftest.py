"""Fixtures of metrics tests: counting processes, and readers of their counts."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kebab.observability.metrics.aggregate import ProcessReader
from kebab.observability.metrics.exposition import Page

_PROGRAM = """
import resource, sys
from pathlib import Path
from kebab.observability.metrics.instruments import Counter, Gauge, Histogram
from kebab.observability.metrics.store import process_store
from kebab.runtime.role import set_role

things = Counter("kebab_things_total", "Things.", "kind")
seconds = Histogram("kebab_thing_seconds", "Time for one.", bounds=(0.1, 1))
stalled = Gauge("kebab_turns_stalled_seconds", "For how long none came back.", "kind")
folder, role, limit = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
set_role(role)
things.add("before", amount=2)
process_store().publish(folder, role)
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""


class Counting:
    """A process that counts as the test commands."""

    def __init__(self, folder: Path, role: str, limit_bytes: int = 0) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(folder), role, str(limit_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.do("pass")

    @property
    def pid(self) -> str:
        """Return the pid as a label."""
        return str(self.process.pid)

    def do(self, line: str) -> None:
        """Run a line of Python in the process, and wait for its end."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def end(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            pipe.close()


@pytest.fixture
def counting(tmp_path: Path) -> Iterator[Callable[..., Counting]]:
    """Return a function that starts a process that counts in the folder of the test."""
    started: list[Counting] = []

    def start(role: str, **options: int) -> Counting:
        started.append(Counting(tmp_path, role, **options))
        return started[-1]

    yield start
    for process in started:
        process.end()


def samples(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Return the samples of an exposition by name and labels, as another implementation reads them."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.fixture
def read(tmp_path: Path) -> Callable[[], dict]:
    """Return a function that reads the counts of all live processes."""
    reader = ProcessReader(tmp_path)

    def read() -> dict:
        page = Page()
        reader.write(page)
        return samples(page.text().decode())

    return read


def sample_key(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    """Return the key of a sample."""
    return name, frozenset(labels.items())
