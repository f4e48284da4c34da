"""Request bodies, received before a request takes a thread, so that slow senders hold none.

Short ones are buffered in memory. Longer ones are received into files, once a view wants to read them.

Bodies that are received or wait have a budget, in fair shares of their callers. When the whole is full, the
largest body of the caller who holds most is dropped, until there is room: shares are max-min fair (D.
Bertsekas and R. Gallager, Data Networks, 1992, 6.5.2). The last fifth is for callers who hold at most a tenth
of the whole.
"""

import asyncio
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Final

from asgiref.typing import ASGIReceiveCallable, ASGIReceiveEvent, HTTPScope
from django.conf import settings

from kebab.http.admission.fair_queue import ClientGone, Overloaded

# Enough digits for any size; `int` raises for thousands of them.
_DIGITS: Final = 19


def parse_content_length(length: str) -> int | None:
    """Return the bytes of a `Content-Length`: at most the first 19 digits; None if it is no number."""
    if not length.isdecimal():
        return None
    return int(length.lstrip("0")[:_DIGITS] or "0")


_BUFFERED_BYTES: Final = 16_000_000
_SPOOLED_BODIES: Final = 128


class BodyBudget:
    """A number of bytes, or of bodies, for all bodies of a process."""

    def __init__(self, most: int = _BUFFERED_BYTES) -> None:
        self._most = most
        self._held: Counter[str] = Counter()
        self._shares: defaultdict[str, set[BodyShare]] = defaultdict(set)
        #: How much is held.
        self.n = 0

    def add(self, share: "BodyShare", size: int) -> None:
        """Add to what a body holds. Raises Overloaded if its caller already holds most."""
        own = self._held[share.caller] + size
        limit = self._most if 10 * own <= self._most else self._most - self._most // 5
        while self.n + size > limit:
            largest = max(self._held, key=self._held.__getitem__, default=share.caller)
            if self._held[largest] <= own:
                is_alone = own == self.n + size
                raise Overloaded(is_caller_busy=not is_alone and 2 * own > self.n + size)
            max(self._shares[largest], key=lambda each: each.size).drop()
        self._shares[share.caller].add(share)
        share.size += size
        self._change(share.caller, size)

    def remove(self, share: "BodyShare") -> None:
        """Remove all that a body holds."""
        shares = self._shares[share.caller]
        shares.discard(share)
        self._change(share.caller, -share.size)
        share.size = 0
        if not shares:
            del self._shares[share.caller], self._held[share.caller]

    def _change(self, caller: str, size: int) -> None:
        self.n += size
        self._held[caller] += size


class BodyShare:
    """The part of a budget that one body holds."""

    def __init__(self, budget: BodyBudget, caller: str, on_drop: Callable[[], None]) -> None:
        """Take what ends the body's request when others need the room."""
        self.caller = caller
        self.size = 0
        self._budget = budget
        self._on_drop = on_drop

    def add(self, size: int) -> None:
        """Add to what the body holds. Raises Overloaded."""
        self._budget.add(self, size)

    def close(self) -> None:
        """Remove all that the body holds."""
        if self.size:
            self._budget.remove(self)

    def drop(self) -> None:
        """Remove all that the body holds, and end its request."""
        self.close()
        self._on_drop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spool:
    """The budgets of a process for long bodies, which are received into files."""

    bytes: BodyBudget
    bodies: BodyBudget = field(default_factory=lambda: BodyBudget(_SPOOLED_BODIES))


#: A longer body is received when a view reads it, which it does after authentication.
SHORT_BYTES: Final = 1_000_000
# A short body has ten seconds and twenty more for each megabyte; a long one half a minute for each part, and
# after its first half minute has to have come at 8 kB/s on average.
_SHORT_GRACE_S = 10.0
_SHORT_RATE: Final = 50_000
_LONG_GRACE_S = 30.0
_LONG_RATE: Final = 8_000
# The most bytes that a form adds to the file in it.
_FORM_OVERHEAD_BYTES: Final = 1_000_000


class BodyRefused(Exception):
    """A body can't be received: TooSlow, TooLong, NoSpace."""


class TooSlow(BodyRefused):
    """The body didn't come in time."""


class TooLong(BodyRefused):
    """The body is longer than the limit."""


class NoSpace(BodyRefused):
    """The disk has no room for the body."""


def is_short(scope: HTTPScope) -> bool:
    """Return whether a request declares a short body or none."""
    size_bytes = declared_bytes(scope)
    return size_bytes is not None and size_bytes <= SHORT_BYTES


def declared_bytes(scope: HTTPScope) -> int | None:
    """Return the length that a request declares for its body; None if it is chunked or no number."""
    headers = dict(scope["headers"])
    if b"transfer-encoding" in headers:
        return None
    return parse_content_length(headers.get(b"content-length", b"0").decode("latin-1"))


def largest_upload_bytes() -> int:
    """Return the most bytes that a body may have."""
    largest = max(settings.KEBAB_UPLOAD_LIMIT_BYTES, settings.KEBAB_ARCHIVE_LIMIT_BYTES)
    return int(largest) + _FORM_OVERHEAD_BYTES


class _Body:
    """A body of which each part takes room of its caller's share.

    When that is needed for others, the body is dropped: from then on every method raises Overloaded.
    """

    def __init__(self, receive: ASGIReceiveCallable, most_bytes: int) -> None:
        self._receive = receive
        self._most_bytes = most_bytes
        self._limit: asyncio.Timeout | None = None
        self._is_dropped = False
        self.size_bytes = 0

    async def read(self) -> None:
        """Receive the whole body. Raises BodyRefused, Overloaded, ClientGone."""
        began = _now()
        try:
            async with asyncio.timeout_at(None) as self._limit:
                has_more = True
                while has_more:
                    self._limit.reschedule(self._deadline(began))
                    has_more = await self._receive_part()
        except TimeoutError:
            self.check()
            raise TooSlow from None
        finally:
            self._limit = None

    def check(self) -> None:
        """Raise Overloaded if the body has been dropped."""
        if self._is_dropped:
            raise Overloaded(is_caller_busy=True)

    async def _receive_part(self) -> bool:
        event = await self._receive()
        self.check()
        if event["type"] != "http.request":
            raise ClientGone
        part = event.get("body", b"")
        if part:
            self.size_bytes += len(part)
            if self.size_bytes > self._most_bytes:
                raise TooLong
            self._write(part)
        return event.get("more_body", False)

    def _drop(self) -> None:
        self._is_dropped = True
        if self._limit is not None and not self._limit.expired():
            self._limit.reschedule(_now())

    def _deadline(self, began: float) -> float:
        """Return until when the next part has to come, by the clock of the event loop."""
        raise NotImplementedError

    def _write(self, part: bytes) -> None:
        raise NotImplementedError


class BufferedBody(_Body):
    """A short body in memory, which the application can receive again."""

    def __init__(
        self, scope: HTTPScope, receive: ASGIReceiveCallable, budget: BodyBudget, caller: str
    ) -> None:
        """Take the caller in whose share of the budget the body is."""
        super().__init__(receive, SHORT_BYTES)
        self._share = BodyShare(budget, caller, self._drop)
        declared = declared_bytes(scope)
        self._declared_bytes = SHORT_BYTES if declared is None else min(declared, SHORT_BYTES)
        self._body = bytearray()
        self._is_replayed = False
        self._upcoming: asyncio.Task[ASGIReceiveEvent] | None = None

    def contains(self, pattern: re.Pattern[bytes]) -> bool:
        """Return whether the pattern occurs in the buffered body."""
        return pattern.search(self._body) is not None

    def disconnect(self) -> "asyncio.Task[ASGIReceiveEvent]":
        """Return a task that ends when the client leaves or the body is dropped; call it after `read`."""
        if self._upcoming is None:
            self._upcoming = asyncio.ensure_future(self._receive())
        return self._upcoming

    def keep(self) -> None:
        """Take the body out of the budget, for a request that runs. Raises Overloaded."""
        self.check()
        self._share.close()

    def take(self) -> bytes:
        """Return the buffered body, and keep it no longer. Raises Overloaded."""
        self.keep()
        body, self._body = bytes(self._body), bytearray()
        return body

    async def replay(self) -> ASGIReceiveEvent:
        """Receive the buffered body first, then further events: the application's `receive`."""
        if not self._is_replayed:
            self._is_replayed = True
            return {"type": "http.request", "body": self.take(), "more_body": False}
        return await self.disconnect() if self._upcoming is not None else await self._receive()

    def close(self) -> None:
        """Drop the buffered body and stop waiting for the disconnect."""
        self._share.close()
        self._body = bytearray()
        if self._upcoming is not None and not self._upcoming.done():
            self._upcoming.cancel()

    def _drop(self) -> None:
        super()._drop()
        self._body = bytearray()
        if self._upcoming is not None:
            self._upcoming.cancel()

    def _deadline(self, began: float) -> float:
        return began + _SHORT_GRACE_S + self._declared_bytes / _SHORT_RATE

    def _write(self, part: bytes) -> None:
        self._share.add(len(part))
        self._body += part


class SpooledBody(_Body):
    """A long body in a file, which holds no slot while it is received."""

    def __init__(self, receive: ASGIReceiveCallable, spool: Spool, caller: str) -> None:
        """Take the caller in whose share of the spool the body is. Raises Overloaded, NoSpace."""
        super().__init__(receive, largest_upload_bytes())
        self._bytes = BodyShare(spool.bytes, caller, self._drop)
        self._place = BodyShare(spool.bodies, caller, self._drop)
        self._place.add(1)
        try:
            self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # `close` closes it
        except OSError as error:
            self._place.close()
            raise NoSpace from error

    def take(self) -> IO[bytes]:
        """Return the file at its beginning, which takes no room of the spool any more. Raises Overloaded."""
        self.check()
        self._file.seek(0)
        self._leave()
        return self._file

    def close(self) -> None:
        """Delete the file."""
        self._leave()
        self._file.close()

    def _leave(self) -> None:
        self._bytes.close()
        self._place.close()

    def _drop(self) -> None:
        super()._drop()
        self._leave()
        self._file.close()

    def _deadline(self, began: float) -> float:
        now = _now()
        return min(now, began + self.size_bytes / _LONG_RATE) + _LONG_GRACE_S

    def _write(self, part: bytes) -> None:
        self._bytes.add(len(part))
        try:
            self._file.write(part)
        except OSError as error:
            raise NoSpace from error


def _now() -> float:
    return asyncio.get_running_loop().time()
