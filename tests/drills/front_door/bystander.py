"""Effects of an attack on other clients, and resources that it leaves behind."""

import re
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil

from tests.support.stack import eventually

_TURNS_IN_USE = re.compile(r"^kebab_turns_lent\{[^}]*\} (\S+)$", re.MULTILINE)
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)
#: Address of the bystander.
SOURCE = "127.0.0.2"
_ROUNDS_PER_UPLOAD = 4
# So long that the door receives it into a file.
_UPLOAD_BYTES = 1_100_000
_FORM = (
    b'--end\r\nContent-Disposition: form-data; name="path"\r\n\r\nbystander.md\r\n'
    b'--end\r\nContent-Disposition: form-data; name="file"; filename="bystander.md"\r\n\r\n%b\r\n--end--\r\n'
)
_LIMIT_S = 20.0


@dataclass(slots=True)
class BystanderAnswers:
    """The answers that the bystander got: statuses and seconds by kind of request."""

    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def p95_ms(self, what: str) -> float:
        """Return the 95th percentile."""
        ordered = sorted(self.seconds[what])
        return 1_000 * ordered[int(0.95 * (len(ordered) - 1))]

    @property
    def is_good(self) -> bool:
        """Return whether every request was answered with 2xx."""
        return all(200 <= status < 300 for _, status in self.statuses)


class Bystander:
    """A client at another address, in a workspace of its own, each of whose requests is on a new connection.

    It opens the log-in page, searches for `wombat`, and now and then uploads a note.
    """

    def __init__(self, url: str, workspace: str, token: str) -> None:
        self._url, self._workspace, self._token = url, workspace, token
        self._n_asked = 0

    def at(self, url: str) -> "Bystander":
        """Return the same bystander at another address of the same processes."""
        return Bystander(url, self._workspace, self._token)

    def ask(self, *, seconds: float, least: int) -> BystanderAnswers:
        """Send requests in turn for `seconds`, and at least `least` of each kind but uploads."""
        answers, until = BystanderAnswers(), time.monotonic() + seconds
        n_asked = 0
        while time.monotonic() < until or n_asked < least:
            n_asked += 1
            for what, request in self._requests():
                began = time.perf_counter()
                status = self._status_of(*request)
                answers.statuses[what, status] += 1
                answers.seconds.setdefault(what, []).append(time.perf_counter() - began)
            time.sleep(0.02)
        return answers

    def _requests(self) -> Iterator[tuple[str, tuple[str, str, bytes]]]:
        """Yield requests by what they do: method, path and body."""
        base = f"/api/v1/workspaces/{self._workspace}"
        yield "log in", ("GET", "/login", b"")
        yield "search", ("GET", f"{base}/search?q=wombat", b"")
        if self._n_asked % _ROUNDS_PER_UPLOAD == 0:
            note = f"# Note\n\nA wombat, for the {self._n_asked}th time.\n"
            yield "upload", ("POST", f"{base}/documents/file", _FORM % note.ljust(_UPLOAD_BYTES).encode())
        self._n_asked += 1

    def _status_of(self, method: str, path: str, body: bytes) -> int:
        headers = {"Authorization": f"Bearer {self._token}"} if path.startswith("/api/") else {}
        headers |= {"Content-Type": "multipart/form-data; boundary=end"} if body else {}
        place = urlsplit(self._url)
        connection = HTTPConnection(
            str(place.hostname), place.port, timeout=_LIMIT_S, source_address=(SOURCE, 0)
        )
        with closing(connection), suppress(OSError, HTTPException):
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Resources of the web processes: turns, threads, and bytes of memory of all and of the largest."""

    turns: int
    threads: int
    memory_bytes: int
    largest_bytes: int


class WebProcesses:
    """The processes that serve a port."""

    def __init__(self, url: str, pid: int) -> None:
        """Find the processes; `pid` is their parent's."""
        self._url = url
        self._processes = [child for child in psutil.Process(pid).children() if _serves(child)]

    def state(self) -> State:
        """Return the present resources."""
        metrics = httpx.get(f"{self._url}/metrics", timeout=20).text
        resident = [each.memory_info().rss for each in self._processes]
        return State(
            turns=round(sum(float(found) for found in _TURNS_IN_USE.findall(metrics))),
            threads=sum(each.num_threads() for each in self._processes),
            memory_bytes=sum(resident),
            largest_bytes=max(resident),
        )

    def processor_s(self) -> float:
        """Return the processor time that they have used."""
        return sum(each.user + each.system for each in (process.cpu_times() for process in self._processes))

    def peak_bytes(self) -> int:
        """Return the most memory that one of them has used."""
        status = [Path(f"/proc/{each.pid}/status").read_text(encoding="utf-8") for each in self._processes]
        return max(1024 * int(_PEAK.findall(each)[0]) for each in status)

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
