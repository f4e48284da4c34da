"""How bodies come. A short one does before anybody works on the request: slow senders hold up no thread."""

import asyncio
import re
import tempfile
from contextlib import ExitStack
from typing import IO, Final

from asgiref.typing import ASGIReceiveCallable, ASGIReceiveEvent, HTTPScope
from django.conf import settings

from kebab.http.admission.fair_queue import Gone, Refused
from kebab.http.content_length import stated_bytes

#: A longer body is received when a view wants it, which first looks who sends it.
SHORT_BYTES: Final = 1_000_000
_MOST_HELD_BYTES: Final = 64_000_000
_LIMIT_S = 30.0
_SILENCE_S = 30.0
# A form adds this to the file in it at most.
_FORM_OVERHEAD_BYTES: Final = 1_000_000


class TooSlow(Exception):
    """The body didn't come in time."""


class TooLong(Exception):
    """The body is longer than any that is taken."""


async def receive_file(receive: ASGIReceiveCallable) -> tuple[IO[bytes], int]:
    """Receive a whole body into a file; return the file, at its beginning, and the body's size in bytes.

    Raises TooSlow if no part comes for half a minute, TooLong, Gone.
    """
    most_bytes = max(settings.KEBAB_UPLOAD_LIMIT_BYTES, settings.KEBAB_ARCHIVE_LIMIT_BYTES)
    with ExitStack() as stack:
        file = stack.enter_context(tempfile.TemporaryFile())
        size_bytes, has_more = 0, True
        while has_more:
            try:
                async with asyncio.timeout(_SILENCE_S):
                    event = await receive()
            except TimeoutError:
                raise TooSlow from None
            if event["type"] != "http.request":
                raise Gone
            size_bytes += file.write(event.get("body", b""))
            if size_bytes > most_bytes + _FORM_OVERHEAD_BYTES:
                raise TooLong
            has_more = event.get("more_body", False)
        file.seek(0)
        stack.pop_all()
    return file, size_bytes


def is_short(scope: HTTPScope) -> bool:
    """Return whether a request says that its body is short, or has none."""
    headers = dict(scope["headers"])
    size_bytes = stated_bytes(headers.get(b"content-length", b"0").decode("latin-1"))
    return b"transfer-encoding" not in headers and size_bytes is not None and size_bytes <= SHORT_BYTES


class HeldBytes:
    """How much a process holds of bodies that nobody works on yet."""

    def __init__(self, most: int = _MOST_HELD_BYTES) -> None:
        self._most = most
        self.n = 0

    def add(self, size: int) -> None:
        """Hold so many bytes more. Raises Refused where that is too much, whoever sent the others."""
        if self.n + size > self._most:
            raise Refused(is_own_doing=False)
        self.n += size

    def subtract(self, size: int) -> None:
        """Hold so many bytes less."""
        self.n -= size


class HeldBody:
    """What has been received of a request, to be received again, and what comes after it."""

    def __init__(self, receive: ASGIReceiveCallable, held: HeldBytes) -> None:
        self._receive = receive
        self._held = held
        self._body = bytearray()
        self._is_given = False
        self._coming: asyncio.Task[ASGIReceiveEvent] | None = None
        #: Whether the sender has gone before all was received.
        self.is_left = False

    async def read(self) -> None:
        """Receive the whole body. Raises TooSlow, TooLong, Refused."""
        try:
            async with asyncio.timeout(_LIMIT_S):
                while await self._has_more():
                    pass
        except TimeoutError:
            raise TooSlow from None

    def has(self, pattern: re.Pattern[bytes]) -> bool:
        """Return whether the pattern is found in what has been read."""
        return pattern.search(self._body) is not None

    def leaving(self) -> "asyncio.Task[ASGIReceiveEvent]":
        """Return what ends when the sender goes; the body has been read."""
        if self._coming is None:
            self._coming = asyncio.ensure_future(self._receive())  # type: ignore[arg-type]
        return self._coming

    def taken(self) -> bytes:
        """Return what was read, and hold it no longer."""
        body = bytes(self._body)
        self._forget()
        return body

    async def again(self) -> ASGIReceiveEvent:
        """Receive what was read, then what comes."""
        if not self._is_given:
            self._is_given = True
            return {"type": "http.request", "body": self.taken(), "more_body": False}
        return await self.leaving() if self._coming is not None else await self._receive()

    def let_go(self) -> None:
        """Hold nothing of it any more, and wait for the sender's going no longer."""
        self._forget()
        if self._coming is not None and not self._coming.done():
            self._coming.cancel()

    async def _has_more(self) -> bool:
        event = await self._receive()
        if event["type"] != "http.request":
            self.is_left = True
            return False
        part = event.get("body", b"")
        if len(self._body) + len(part) > SHORT_BYTES:
            raise TooLong
        self._held.add(len(part))
        self._body += part
        return event.get("more_body", False)

    def _forget(self) -> None:
        self._held.subtract(len(self._body))
        self._body = bytearray()
