"""A stack with all observability enabled, as seen from outside."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from tests.acceptance.client import Client
from tests.integration.kebab.health.collector import Collector
from tests.integration.kebab.health.conftest import samples
from tests.integration.kebab.stack.conftest import family
from tests.support.stack import Stack

TOKEN = "operators-token-of-the-test"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedStack:
    """A stack, its collector, and a client in a workspace that holds documents."""

    stack: Stack
    collector: Collector
    client: Client

    def text(self, token: str = TOKEN) -> str:
        """Return the text of `/metrics`."""
        given = {"Authorization": f"Bearer {token}"} if token else {}
        answer = httpx.get(f"{self.stack.url}/metrics", headers=given, timeout=10)
        assert answer.status_code == 200
        return answer.text

    def metrics(self) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        """Return the samples of `/metrics`."""
        return samples(self.text())

    def total(self, name: str, /, **labels: str) -> float:
        """Return the sum of the samples with these labels."""
        wanted = labels.items()
        return sum(
            value for (found, of), value in self.metrics().items() if found == name and wanted <= set(of)
        )

    def lines(self, name: str) -> list[dict[str, Any]]:
        """Return the lines of a process's log."""
        log = (self.stack.data_dir / "logs" / f"{name}.log").read_text()
        assert not [line for line in log.splitlines() if not line.startswith("{")], log
        return [json.loads(line) for line in log.splitlines()]

    @contextmanager
    def suspend(self, *names: str) -> Iterator[None]:
        """Stop the processes of servers during the block."""
        pids = [pid for name in names for pid in family(self.stack.pids()[name])]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in reversed(pids):
                os.kill(pid, signal.SIGCONT)
