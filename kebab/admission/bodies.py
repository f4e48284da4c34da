"""Reading a short body before anybody works on the request: a slow sender holds up no thread."""

import asyncio
from dataclasses import dataclass, field

from a2wsgi.asgi_typing import Receive, ReceiveEvent, Scope

#: A longer body is read by the view, which first looks who sends it.
SHORT_BYTES = 1_000_000
_LIMIT_S = 30.0


class TooSlow(Exception):
    """The body didn't come in time."""


def is_short(scope: Scope) -> bool:
    """Whether a request says that its body is short, or has none."""
    headers = dict(scope["headers"])
    length = headers.get(b"content-length", b"0")
    return b"transfer-encoding" not in headers and length.isdigit() and int(length[:12]) <= SHORT_BYTES


@dataclass(slots=True)
class HeldBody:
    """What has been received of a request, to be received again, and what comes after it."""

    receive: Receive
    _events: list[ReceiveEvent] = field(default_factory=list)
    _coming: "asyncio.Task[ReceiveEvent] | None" = None

    async def read(self) -> None:
        """Receive the whole body. Raises TooSlow."""
        try:
            async with asyncio.timeout(_LIMIT_S):
                while not self._events or self._events[-1].get("more_body"):
                    self._events.append(await self.receive())
        except TimeoutError:
            raise TooSlow from None

    @property
    def is_left(self) -> bool:
        """Whether the sender has gone before all was received."""
        return bool(self._events) and self._events[-1]["type"] == "http.disconnect"

    def leaving(self) -> "asyncio.Task[ReceiveEvent]":
        """Give what ends when the sender goes; the body has been read."""
        if self._coming is None:
            self._coming = asyncio.ensure_future(self.receive())  # type: ignore[arg-type]
        return self._coming

    async def again(self) -> ReceiveEvent:
        """Receive what was read, then what comes."""
        if self._events:
            return self._events.pop(0)
        return await self.leaving() if self._coming is not None else await self.receive()

    def let_go(self) -> None:
        """Wait for the sender's going no longer."""
        if self._coming is not None and not self._coming.done():
            self._coming.cancel()
