"""Request bodies. Short ones are received before a request takes a thread, so that slow senders hold none."""

import asyncio
import re
import tempfile
from contextlib import ExitStack
from typing import IO, Final

from asgiref.typing import ASGIReceiveCallable, ASGIReceiveEvent, HTTPScope
from django.conf import settings

from kebab.http.admission.fair_queue import ClientGone, Overloaded
from kebab.http.content_length import parse_content_length

#: A longer body is received when a view reads it, which it does after authentication.
SHORT_BYTES: Final = 1_000_000
_MAX_BUFFERED_BYTES: Final = 64_000_000
_BODY_TIMEOUT_S = 30.0
_PART_TIMEOUT_S = 30.0
# The most bytes that a form adds to the file in it.
_FORM_OVERHEAD_BYTES: Final = 1_000_000


class TooSlow(Exception):
    """The body didn't come in time."""


class TooLong(Exception):
    """The body is longer than the limit."""


async def receive_file(receive: ASGIReceiveCallable) -> tuple[IO[bytes], int]:
    """Receive a whole body into a file; return the file, at its beginning, and the body's size in bytes.

    Raises TooSlow if no part arrives for half a minute, TooLong, ClientGone.
    """
    most_bytes = max(settings.KEBAB_UPLOAD_LIMIT_BYTES, settings.KEBAB_ARCHIVE_LIMIT_BYTES)
    with ExitStack() as stack:
        file = stack.enter_context(tempfile.TemporaryFile())
        size_bytes, has_more = 0, True
        while has_more:
            try:
                async with asyncio.timeout(_PART_TIMEOUT_S):
                    event = await receive()
            except TimeoutError:
                raise TooSlow from None
            if event["type"] != "http.request":
                raise ClientGone
            size_bytes += file.write(event.get("body", b""))
            if size_bytes > most_bytes + _FORM_OVERHEAD_BYTES:
                raise TooLong
            has_more = event.get("more_body", False)
        file.seek(0)
        stack.pop_all()
    return file, size_bytes


def is_short(scope: HTTPScope) -> bool:
    """Return whether a request declares a short body or none."""
    headers = dict(scope["headers"])
    size_bytes = parse_content_length(headers.get(b"content-length", b"0").decode("latin-1"))
    return b"transfer-encoding" not in headers and size_bytes is not None and size_bytes <= SHORT_BYTES


class BufferBudget:
    """The bytes that a process buffers of bodies whose requests don't run yet."""

    def __init__(self, most: int = _MAX_BUFFERED_BYTES) -> None:
        self._most = most
        self.n = 0

    def add(self, size: int) -> None:
        """Add `size` bytes. Raises Overloaded above the limit, whichever workspace sent the others."""
        if self.n + size > self._most:
            raise Overloaded(is_workspace_busy=False)
        self.n += size

    def subtract(self, size: int) -> None:
        """Subtract `size` bytes."""
        self.n -= size


class BufferedBody:
    """The buffered body of a request, which the application can receive again."""

    def __init__(self, receive: ASGIReceiveCallable, held: BufferBudget) -> None:
        self._receive = receive
        self._held = held
        self._body = bytearray()
        self._is_replayed = False
        self._upcoming: asyncio.Task[ASGIReceiveEvent] | None = None
        #: Whether the client disconnected before the body was complete.
        self.is_disconnected = False

    async def read(self) -> None:
        """Receive the whole body. Raises TooSlow, TooLong, Overloaded."""
        try:
            async with asyncio.timeout(_BODY_TIMEOUT_S):
                while await self._receive_part():
                    pass
        except TimeoutError:
            raise TooSlow from None

    def contains(self, pattern: re.Pattern[bytes]) -> bool:
        """Return whether the pattern occurs in the buffered body."""
        return pattern.search(self._body) is not None

    def disconnect(self) -> "asyncio.Task[ASGIReceiveEvent]":
        """Return a task that ends when the client disconnects; call it after `read`."""
        if self._upcoming is None:
            self._upcoming = asyncio.ensure_future(self._receive())
        return self._upcoming

    def take(self) -> bytes:
        """Return the buffered body and drop it from the buffer."""
        body = bytes(self._body)
        self._drop()
        return body

    async def replay(self) -> ASGIReceiveEvent:
        """Receive the buffered body first, then further events: the application's `receive`."""
        if not self._is_replayed:
            self._is_replayed = True
            return {"type": "http.request", "body": self.take(), "more_body": False}
        return await self.disconnect() if self._upcoming is not None else await self._receive()

    def close(self) -> None:
        """Drop the buffered body and stop waiting for the disconnect."""
        self._drop()
        if self._upcoming is not None and not self._upcoming.done():
            self._upcoming.cancel()

    async def _receive_part(self) -> bool:
        event = await self._receive()
        if event["type"] != "http.request":
            self.is_disconnected = True
            return False
        part = event.get("body", b"")
        if len(self._body) + len(part) > SHORT_BYTES:
            raise TooLong
        self._held.add(len(part))
        self._body += part
        return event.get("more_body", False)

    def _drop(self) -> None:
        self._held.subtract(len(self._body))
        self._body = bytearray()
