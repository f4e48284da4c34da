"""Effects of an attack on other clients, and resources that it leaves behind."""

import re
import socket
import time
from collections import Counter
from dataclasses import dataclass, field

import httpx
import psutil

from tests.support.stack import eventually

_TURNS_IN_USE = re.compile(r"^kebab_turns_lent\{[^}]*\} (\S+)$", re.MULTILINE)
#: Address of the bystander.
SOURCE = "127.0.0.2"


@dataclass(slots=True)
class BystanderAnswers:
    """The answers that the bystander got: statuses, and seconds by kind of request."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def p95_ms(self, what: str) -> float:
        """Return the 95th percentile."""
        ordered = sorted(self.seconds[what])
        return 1_000 * ordered[int(0.95 * (len(ordered) - 1))]


class Bystander:
    """A client at another address that opens the log-in page and searches, each on a new connection."""

    def __init__(self, url: str, search: str, token: str) -> None:
        self._url, self._search, self._token = url, search, token

    def at(self, url: str) -> "Bystander":
        """Return the same bystander at another address of the same processes."""
        return Bystander(url, self._search, self._token)

    def ask(self, *, seconds: float, least: int) -> BystanderAnswers:
        """Send requests in turn for `seconds`, and at least `least` of them."""
        answers, until = BystanderAnswers(), time.monotonic() + seconds
        n_asked = 0
        while time.monotonic() < until or n_asked < least:
            n_asked += 1
            for what, path, headers in (
                ("log in", "/login", {}),
                ("search", self._search, {"Authorization": f"Bearer {self._token}"}),
            ):
                began = time.perf_counter()
                answers.statuses[self._get(path, headers)] += 1
                answers.seconds.setdefault(what, []).append(time.perf_counter() - began)
            time.sleep(0.02)
        return answers

    def _get(self, path: str, headers: dict[str, str]) -> int:
        transport = httpx.HTTPTransport(local_address=SOURCE)
        with httpx.Client(base_url=self._url, transport=transport, timeout=20) as client:
            try:
                return client.get(path, headers=headers).status_code
            except httpx.HTTPError:
                return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Resources of the web processes: admission turns, threads, bytes of memory."""

    turns: int
    threads: int
    memory_bytes: int


class WebProcesses:
    """The processes that serve a port."""

    def __init__(self, url: str, pid: int) -> None:
        """Find the processes; `pid` is their parent's."""
        self._url = url
        self._processes = [child for child in psutil.Process(pid).children() if _serves(child)]

    def state(self) -> State:
        """Return the present resources."""
        metrics = httpx.get(f"{self._url}/metrics", timeout=20).text
        return State(
            turns=round(sum(float(found) for found in _TURNS_IN_USE.findall(metrics))),
            threads=sum(each.num_threads() for each in self._processes),
            memory_bytes=sum(each.memory_info().rss for each in self._processes),
        )

    def wait_until_idle(self, limit_s: float) -> None:
        """Wait until no turn is in use. Raises GaveUp."""
        eventually(lambda: self.state().turns == 0, "all turns have come back", limit_s, 0.5)


def _serves(process: psutil.Process) -> bool:
    return "kebab web worker" in " ".join(process.cmdline())


def is_open(client: socket.socket) -> bool:
    """Return whether the other end has not closed a connection."""
    client.setblocking(False)
    try:
        return client.recv(65_536) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
