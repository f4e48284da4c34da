"""A client that costs little: requests written once, on connections that are kept."""

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
    """What is sent; `kind` is what figures are told by."""

    kind: str
    method: str
    path: str
    token: str
    body: Mapping[str, Any] | None = None

    def written(self) -> bytes:
        """The request as it goes over the wire."""
        body = b"" if self.body is None else json.dumps(self.body).encode()
        return (
            f"{self.method} {self.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode() + body


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of a request; a status of 0 is none within a minute, or a connection that broke."""

    kind: str
    status: int
    #: Seconds since the load began, when it was due to be sent.
    due_s: float
    took_s: float
    retry_after: str | None = None
    body: bytes = b""

    @property
    def is_useful(self) -> bool:
        """Return whether it is what was asked for."""
        return 200 <= self.status < 300 or self.status == 404

    @property
    def is_refusal(self) -> bool:
        """Return whether it says to come again, and when."""
        return self.status in {429, 503} and self.retry_after is not None


class Line:
    """A connection that is opened when it is needed."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._host, self._port = address.hostname or "127.0.0.1", address.port or 80
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: Request, due_s: float, began: float) -> Answer:
        """Send a request, and give its answer; the time counts from `began`, when it was due."""
        try:
            async with asyncio.timeout(_LIMIT_S):
                status, headers, body = await self._asked(request.written())
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

    async def _asked(self, written: bytes) -> tuple[int, dict[str, str], bytes]:
        """Ask; once more where a kept connection turns out to be closed, as every client does."""
        was_kept = self._streams is not None
        try:
            return await self._exchange(written)
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            self.close()
            if not was_kept or getattr(error, "partial", b""):
                raise
            return await self._exchange(written)

    def close(self) -> None:
        """Close it; the next request opens it anew."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def _exchange(self, written: bytes) -> tuple[int, dict[str, str], bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        writer.write(written)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        body = (
            await reader.readexactly(int(headers["content-length"])) if "content-length" in headers else b""
        )
        if headers.get("connection") == "close":
            self.close()
        return int(head[0].split(" ")[1]), headers, body


class Lines:
    """Connections for as many requests as are under way."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._idle: list[Line] = []
        self._open: list[Line] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for line in self._open:
            line.close()

    async def ask(self, request: Request, due_s: float, began: float) -> Answer:
        """Send a request on a line of its own."""
        line = self._idle.pop() if self._idle else self._new()
        try:
            return await line.ask(request, due_s, began)
        finally:
            self._idle.append(line)

    def _new(self) -> Line:
        line = Line(self._url)
        self._open.append(line)
        return line
