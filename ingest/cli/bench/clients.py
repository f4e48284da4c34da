"""Clients over HTTP: one after the other on a connection that is kept, or several at once."""

import http.client
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from kebab.cli.errors import CliError

CLIENTS = 8
_LIMIT_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request: a body makes it a POST."""

    path: str
    body: object | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Asks a server; every call of `ask_all` has a connection of its own."""

    #: What answers, for the message when it doesn't.
    name: str
    url: str
    #: Gives the request of a query.
    request: Callable[[str], Asked]
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def ask_all(self, queries: Sequence[str]) -> list[float]:
        """Ask one query after the other, on one connection that is kept; give the seconds of each."""
        connection = self.connect()
        try:
            return [self.ask(connection, text)[0] for text in queries]
        finally:
            connection.close()

    def connect(self) -> http.client.HTTPConnection:
        """Return a connection that is opened with its first request."""
        address = urlsplit(self.url)
        return http.client.HTTPConnection(address.hostname or "127.0.0.1", address.port, timeout=_LIMIT_S)

    def ask(self, connection: http.client.HTTPConnection, text: str) -> tuple[float, bytes]:
        """Return the seconds and the body of an answer. Raises CliError when it is none."""
        asked = self.request(text)
        body = None if asked.body is None else json.dumps(asked.body)
        headers = {**self.headers, **({} if body is None else {"Content-Type": "application/json"})}
        started = time.perf_counter()
        connection.request("GET" if body is None else "POST", asked.path, body, headers)
        answer = connection.getresponse()
        found = answer.read()
        if answer.status != http.client.OK:
            said = found[:200].decode("utf-8", "replace")
            raise CliError(f"{self.name} answered a search with {answer.status}: {said}", code="bench_failed")
        return time.perf_counter() - started, found


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """What several clients at once saw of a server."""

    #: Of each request.
    seconds: Sequence[float]
    #: From the first request to the last answer.
    wall_s: float

    @property
    def rate(self) -> float:
        """Return the requests a second."""
        return len(self.seconds) / self.wall_s


def ask_at_once(client: Client, queries: Sequence[str], clients: int = CLIENTS) -> Crowd:
    """Ask `queries`, shared out between as many clients, which run on this machine too."""
    shares = [share for number in range(clients) if (share := queries[number::clients])]
    started = time.perf_counter()
    with ThreadPoolExecutor(clients, thread_name_prefix="client") as executor:
        seconds = [each for share in executor.map(client.ask_all, shares) for each in share]
    return Crowd(seconds=seconds, wall_s=time.perf_counter() - started)
