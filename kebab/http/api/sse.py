"""Server-sent events: a stream of named JSON events over one HTTP response. Serve it by ASGI."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.http import StreamingHttpResponse

from kebab.runtime import draining

HEARTBEAT_S = 15.0
_NAME = re.compile(r"\A[a-z][a-z_]*\Z")


def event_stream(
    events: AsyncIterator[tuple[str, dict[str, Any]]],
    *,
    heartbeat_s: float = HEARTBEAT_S,
    lasts: bool = False,
) -> StreamingHttpResponse:
    """Return a response that streams `events`, each a name and its fields.

    After every `heartbeat_s` without an event it sends a comment line. The iterator is closed when the client
    disconnects, and, if the stream `lasts`, when the process is told to stop.
    """
    return StreamingHttpResponse(
        _stream_lines(events, heartbeat_s, lasts=lasts),
        content_type="text/event-stream",
        headers={"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"},
    )


def encode_event(name: str, fields: dict[str, Any]) -> bytes:
    """Return one event as bytes of the stream. Raises ValueError for a name that is no lower-case word."""
    if not _NAME.match(name):
        raise ValueError(f"{name!r} is not an event name; use lower-case letters and underscores.")
    text = json.dumps(fields, cls=DjangoJSONEncoder, ensure_ascii=False)
    return f"event: {name}\ndata: {text}\n\n".encode()


async def _stream_lines(
    events: AsyncIterator[tuple[str, dict[str, Any]]], heartbeat_s: float, *, lasts: bool
) -> AsyncIterator[bytes]:
    upcoming: asyncio.Future[tuple[str, dict[str, Any]]] | None = None
    with draining.stream_end_future() as ending:
        awaited: set[asyncio.Future[Any]] = {ending} if lasts else set()
        try:
            while True:
                upcoming = upcoming or asyncio.ensure_future(anext(events))
                ready, _ = await asyncio.wait(
                    awaited | {upcoming}, timeout=heartbeat_s, return_when=asyncio.FIRST_COMPLETED
                )
                if not ready:
                    yield b": still here\n\n"
                    continue
                if not upcoming.done():
                    return
                try:
                    name, fields = upcoming.result()
                except StopAsyncIteration:
                    return
                upcoming = None
                yield encode_event(name, fields)
        finally:
            await _close(events, upcoming)


async def _close(events: AsyncIterator[Any], upcoming: "asyncio.Future[Any] | None") -> None:
    if upcoming is not None and not upcoming.done():
        upcoming.cancel()
        with suppress(asyncio.CancelledError, StopAsyncIteration):
            await upcoming
    close = getattr(events, "aclose", None)
    if close is not None:
        await close()
