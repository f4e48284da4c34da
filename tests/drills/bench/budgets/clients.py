"""HTTP clients: one with sequential requests on a keep-alive connection, or several concurrent ones."""

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
class ClientRequest:
    """A request to a server, a POST if it has a body."""

    path: str
    body: object | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client of a server; every call of `ask_all` has a connection of its own."""

    #: The server's name, for error messages.
    name: str
    url: str
    #: Returns the request for a query.
    request: Callable[[str], ClientRequest]
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def ask_all(self, queries: Sequence[str]) -> list[float]:
        """Send one query after the other on one keep-alive connection, and return the seconds of each."""
        connection = self.connect()
        try:
            return [self.ask(connection, text)[0] for text in queries]
        finally:
            connection.close()

    def connect(self) -> http.client.HTTPConnection:
        """Return a connection, which opens with its first request."""
        address = urlsplit(self.url)
        return http.client.HTTPConnection(address.hostname or "127.0.0.1", address.port, timeout=_LIMIT_S)

    def ask(self, connection: http.client.HTTPConnection, text: str) -> tuple[float, bytes]:
        """Send one query, and return the seconds and the body of the answer. Raises CliError for an error."""
        request = self.request(text)
        body = None if request.body is None else json.dumps(request.body)
        headers = {**self.headers, **({} if body is None else {"Content-Type": "application/json"})}
        started = time.perf_counter()
        connection.request("GET" if body is None else "POST", request.path, body, headers)
        answer = connection.getresponse()
        found = answer.read()
        if answer.status != http.client.OK:
            message = found[:200].decode("utf-8", "replace")
            raise CliError(
                f"{self.name} answered a search with {answer.status}: {message}", code="bench_failed"
            )
        return time.perf_counter() - started, found


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """Result of several concurrent clients of a server."""

    #: Latency of each request.
    seconds: Sequence[float]
    #: Time from the first request to the last answer.
    wall_s: float

    @property
    def rate(self) -> float:
        """Return the requests per second."""
        return len(self.seconds) / self.wall_s


def ask_at_once(client: Client, queries: Sequence[str], clients: int = CLIENTS) -> Crowd:
    """Send `queries`, distributed over `clients` concurrent clients on this machine."""
    shares = [share for number in range(clients) if (share := queries[number::clients])]
    started = time.perf_counter()
    with ThreadPoolExecutor(clients, thread_name_prefix="client") as executor:
        seconds = [each for share in executor.map(client.ask_all, shares) for each in share]
    return Crowd(seconds=seconds, wall_s=time.perf_counter() - started)
