"""A cheap HTTP client: requests encoded once, on persistent connections."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request; figures are grouped by `kind`."""

    kind: str
    method: str
    path: str
    token: str
    body: Mapping[str, Any] | None = None

    def encode(self) -> bytes:
        """Return the encoded request."""
        body = b"" if self.body is None else json.dumps(self.body).encode()
        return (
            f"{self.method} {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode() + body


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a request; status 0 is a timeout after a minute or a broken connection."""

    kind: str
    status: int
    #: Seconds from the start of the load to the scheduled time.
    due_s: float
    took_s: float
    retry_after: str | None = None
    body: bytes = b""

    @property
    def is_useful(self) -> bool:
        """Return whether it succeeded, or there was nothing at the path."""
        return 200 <= self.status < 300 or self.status == 404

    @property
    def is_refusal(self) -> bool:
        """Return whether it was rejected with Retry-After."""
        return self.status in {429, 503} and self.retry_after is not None


class Connection:
    """A connection that is opened on demand."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._host, self._port = address.hostname or "127.0.0.1", address.port or 80
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: Request, due_s: float, began: float) -> Answer:
        """Send a request, and return its answer; the time counts from `began`, when it was scheduled."""
        try:
            async with asyncio.timeout(_LIMIT_S):
                status, headers, body = await self._send(request.encode())
        except (OSError, asyncio.IncompleteReadError, TimeoutError, ValueError):
            self.close()
            status, headers, body = 0, {}, b""
        return Answer(
            kind=request.kind,
            status=status,
            due_s=due_s,
            took_s=time.monotonic() - began,
            retry_after=headers.get("retry-after"),
            body=body,
        )

    async def _send(self, encode: bytes) -> tuple[int, dict[str, str], bytes]:
        """Send a request, and once more when a persistent connection turns out to be closed."""
        was_open = self._streams is not None
        try:
            return await self._exchange(encode)
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            self.close()
            if not was_open or getattr(error, "partial", b""):
                raise
            return await self._exchange(encode)

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def _exchange(self, encode: bytes) -> tuple[int, dict[str, str], bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        writer.write(encode)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        body = (
            await reader.readexactly(int(headers["content-length"])) if "content-length" in headers else b""
        )
        if headers.get("connection") == "close":
            self.close()
        return int(head[0].split(" ")[1]), headers, body


class ConnectionPool:
    """Connections for all requests under way."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._idle: list[Connection] = []
        self._open: list[Connection] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for line in self._open:
            line.close()

    async def ask(self, request: Request, due_s: float, began: float) -> Answer:
        """Send a request on a connection of its own."""
        line = self._idle.pop() if self._idle else self._new()
        try:
            return await line.ask(request, due_s, began)
        finally:
            self._idle.append(line)

    def _new(self) -> Connection:
        line = Connection(self._url)
        self._open.append(line)
        return line
